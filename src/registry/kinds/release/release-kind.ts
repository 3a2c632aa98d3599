import { contentHash } from '../../../base/json.ts'
import { keyToPath, pathToKey } from '../../../store/keys.ts'
import { reject } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type Entry, type EntryKind } from '../kind.ts'
import { parseReleaseRecord, type ReleaseRecord } from './release-record.ts'

/** The record of a prompt's releases, as it is stored. */
export interface ReleaseEntry extends Entry {
  readonly record: ReleaseRecord
}

/** What labels of prompts mean, `shenma:releases:*`; the id is that of the prompt. */
export const releaseKind: EntryKind<ReleaseEntry> = {
  key: 'releases',
  name: 'releases',
  noun: 'record of releases',
  reading: 'whole',
  access: 'prompts',
  decode: decodeJson,
  normalise: value => value,
  async check ({ text }) {
    parseReleaseRecord(decodeJson(text).value)
    return []
  },
  parser: ({ prefix }) => ({
    nameOf: key => keyToPath(key, prefix),
    async parse (key, text) {
      const id = keyToPath(key, prefix)
      if (pathToKey(id, prefix) !== key) throw reject('KEY_INVALID', 'the key of a record has ":" between the segments of the prompt\'s id')
      const { value } = decodeJson(text)
      return { id, record: parseReleaseRecord(value), hash: contentHash(value) }
    },
    isSound: () => true,
    isUsable: () => true,
    diagnostics: () => []
  })
}
