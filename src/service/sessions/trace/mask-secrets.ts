import { isJsonObject, type Json } from '../../../base/json.ts'

/** The patterns of secrets: keys of model APIs, and the tokens of `Authorization: Bearer`. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bBearer\s+[\w.~+/=-]+/gi, '__REDACTED_BEARER__'],
  [/\bsk-[\w-]+/gi, '__REDACTED_API_KEY__']
]

/** Replaces everything in a text that looks like a secret. */
export function maskSecrets (text: string): string {
  return SECRETS.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), text)
}

/** Replaces everything in a JSON value that looks like a secret, also in the names of members. */
export function maskJson (value: Json): Json {
  if (typeof value === 'string') return maskSecrets(value)
  if (Array.isArray(value)) return value.map((each: Json) => maskJson(each))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [maskSecrets(name), maskJson(each)]))
}
