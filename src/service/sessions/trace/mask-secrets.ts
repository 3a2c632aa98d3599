import { isJsonObject, type Json } from '../../../base/json.ts'

/** Keys of model APIs, and the tokens of `Authorization: Bearer`. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bBearer\s+[\w.~+/=-]+/gi, '__REDACTED_BEARER__'],
  [/\bsk-[\w-]+/gi, '__REDACTED_API_KEY__']
]

/** A text without what looks like a secret. */
export function maskSecrets (text: string): string {
  return SECRETS.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), text)
}

/** A value with all its texts masked, names of members too. */
export function maskJson (value: Json): Json {
  if (typeof value === 'string') return maskSecrets(value)
  if (Array.isArray(value)) return value.map((each: Json) => maskJson(each))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [maskSecrets(name), maskJson(each)]))
}
