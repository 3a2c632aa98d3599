import { isJsonObject, type Json, stringifyJson } from '../../../base/json.ts'
import { kindPrefix, pathToKey } from '../../../store/keys.ts'
import { reject } from '../../diagnostic/diagnostic.ts'
import { decodeJson } from '../../entries/decode-value.ts'

/** Kinds of keys that nothing lists: their values are read when something names them. */
export const VERSIONS = 'versions'
export const TESTS = 'tests'

/** The key of a version's text. @param id dotted */
export function versionKey (keyPrefix: string, id: string, n: number): string {
  return `${pathToKey(id, kindPrefix(keyPrefix, VERSIONS))}:${n}`
}

/** The stored text of a version. @param entry what was stored as the prompt */
export function versionText (entry: Json): string {
  return stringifyJson({ entry })
}

/** The prompt in the stored text of a version. @throws RejectedEntry */
export function entryOfVersion (text: string): Json {
  const { value } = decodeJson(text)
  if (!isJsonObject(value) || !Object.hasOwn(value, 'entry')) throw reject('SCHEMA', 'no version of a prompt: expected { "entry": … }')
  return value['entry'] as Json
}
