import { type Json } from './json.ts'

/** Takes secrets out of a text. */
export type Redact = (text: string) => string

/** What is shown in place of a secret. */
export const REDACTED = '[secret]'

/** Names of headers that carry credentials. */
const SENSITIVE = /authorization|cookie|api-?key|token|secret|password/

/** Whether a header carries credentials, by its name. */
export function isSensitive (name: string): boolean {
  return SENSITIVE.test(name.toLowerCase())
}

/** Makes what takes these out of texts: as they are, and as JSON within the text may spell them. */
export function createRedactor (secrets: readonly string[]): Redact {
  // One that begins with another would leave its rest.
  const longestFirst = secrets.filter(secret => secret !== '').sort((one, other) => other.length - one.length)
  if (longestFirst.length === 0) return text => text
  let spellings: RegExp | undefined
  return text => {
    // Only a backslash can spell a character in another way. Without a backslash the plain search is enough, and many times
    // as fast.
    if (!text.includes('\\')) return longestFirst.reduce((redacted, secret) => redacted.replaceAll(secret, REDACTED), text)
    spellings ??= new RegExp(longestFirst.map(anySpelling).join('|'), 'g')
    return text.replaceAll(spellings, REDACTED)
  }
}

/** Takes secrets out of all texts of a value, names of members too. */
export function redactJson (value: Json, secrets: readonly string[]): Json {
  return secrets.length === 0 ? value : redactMembers(value, createRedactor(secrets))
}

function redactMembers (value: Json, redact: Redact): Json {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item: Json) => redactMembers(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [redact(name), redactMembers(member as Json, redact)]))
}

/**
 * Matches a text as it is and as JSON may write it, up to three times within each other: `\/` and `\u002f` for a slash.
 * Without that bound a long run of backslashes would be read again from each of its characters.
 */
function anySpelling (text: string): string {
  return Array.from(text, character => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\\\{0,7}(?:${character.replace(/\W/, '\\$&')}|u${code}|u${code.toUpperCase()})`
  }).join('')
}
