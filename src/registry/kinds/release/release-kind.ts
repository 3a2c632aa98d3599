import { contentHash } from '../../../base/json.ts'
import { keyToPath, pathToKey } from '../../../store/keys.ts'
import { reject } from '../../diagnostic/diagnostic.ts'
import { checkPromptId } from '../../link/prompt-reference.ts'
import { decodeJson } from '../../entries/decode-value.ts'
import { type Entry, type EntryKind } from '../kind.ts'
import { parseReleaseRecord, type ReleaseRecord } from './release-record.ts'

/** The stored record of one prompt's releases: its versions, and which version each label (`production`) means. */
export interface ReleaseEntry extends Entry {
  readonly record: ReleaseRecord
}

/**
 * The kind of entries that are records of releases: which version of a prompt each label (`production`) means. They are stored under
 * `shenma:releases:*` and have the prompt's id.
 */
export const releaseKind: EntryKind<ReleaseEntry> = {
  key: 'releases',
  name: 'releases',
  noun: 'record of releases',
  reading: 'whole',
  access: 'prompts',
  decode: decodeJson,
  normalise: value => value,
  async check ({ id, text }) {
    checkPromptId(id)
    parseReleaseRecord(decodeJson(text).value)
    return []
  },
  parser: ({ prefix }) => ({
    nameOf: key => keyToPath(key, prefix),
    async parse (key, text) {
      const id = keyToPath(key, prefix)
      if (pathToKey(id, prefix) !== key) throw reject('KEY_INVALID', 'the key of a record has ":" between the segments of the prompt\'s id')
      checkPromptId(id)
      const { value } = decodeJson(text)
      return { id, record: parseReleaseRecord(value), hash: contentHash(value) }
    },
    isSound: () => true,
    isUsable: () => true,
    diagnostics: () => []
  })
}
