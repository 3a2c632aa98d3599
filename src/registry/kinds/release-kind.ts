import { contentHash, isJsonObject, type Json, stringifyJson } from '../../base/json.ts'
import { keyToPath, kindPrefix, pathToKey } from '../../store/store.ts'
import { reject } from '../diagnostic.ts'
import { parseReleaseRecord, type ReleaseRecord } from './release-record.ts'
import { checkPromptId } from '../link/references.ts'
import { decodeJson, type Entry, type EntryKind } from './entry-kind.ts'

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

/**
 * The names of two kinds of keys that a listing of the whole store leaves out: the old versions of prompts and the tests of prompts. Such a value is
 * read when a request names it, and a version also when a label or another prompt names it.
 */
export const VERSIONS = 'versions'
export const TESTS = 'tests'

/** The key under which an old version of a prompt is stored. @param id the prompt's dotted id @param n the number of the version */
export function versionKey (keyPrefix: string, id: string, n: number): string {
  return `${pathToKey(id, kindPrefix(keyPrefix, VERSIONS))}:${n}`
}

/** The text that is stored for a version of a prompt. @param entry the prompt's stored value at that time */
export function versionText (entry: Json): string {
  return stringifyJson({ entry })
}

/** The prompt inside the stored text of a version. @throws RejectedEntry */
export function entryOfVersion (text: string): Json {
  const { value } = decodeJson(text)
  if (!isJsonObject(value) || !Object.hasOwn(value, 'entry')) throw reject('SCHEMA', 'no version of a prompt: expected { "entry": … }')
  return value['entry'] as Json
}
