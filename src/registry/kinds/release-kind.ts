import { contentHash, isJsonObject, type Json, stringifyJson } from '../../base/json.ts'
import { keyToPath, kindPrefix, pathToKey } from '../../store/store.ts'
import { reject } from '../diagnostic.ts'
import { parseReleaseRecord, type ReleaseRecord } from './release-record.ts'
import { checkPromptId } from '../link/references.ts'
import { decodeJson, type Entry, type EntryKind } from './entry-kind.ts'

export interface ReleaseEntry extends Entry {
  readonly record: ReleaseRecord
}

/** Which version each label means; stored under `shenma:releases:*` with the prompt's id. */
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

/** Left out of a listing of the whole store, and read when a request, a label or a prompt names them. */
export const VERSIONS = 'versions'
export const TESTS = 'tests'

export function versionKey (keyPrefix: string, id: string, n: number): string {
  return `${pathToKey(id, kindPrefix(keyPrefix, VERSIONS))}:${n}`
}

export function versionText (entry: Json): string {
  return stringifyJson({ entry })
}

/** @throws RejectedEntry */
export function entryOfVersion (text: string): Json {
  const { value } = decodeJson(text)
  if (!isJsonObject(value) || !Object.hasOwn(value, 'entry')) throw reject('SCHEMA', 'no version of a prompt: expected { "entry": … }')
  return value['entry'] as Json
}
