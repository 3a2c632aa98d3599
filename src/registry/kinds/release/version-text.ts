import { isJsonObject, type Json, stringifyJson } from '../../../base/json.ts'
import { kindPrefix, pathToKey } from '../../../store/keys.ts'
import { reject } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'

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
