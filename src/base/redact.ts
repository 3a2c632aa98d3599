import { type Json } from './json.ts'

export type Redact = (text: string) => string

export const REDACTED = '[secret]'

const KNOWN_FORMS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bBearer\s+[\w.~+/=-]+/gi, '__REDACTED_BEARER__'],
  [/\bsk-[\w-]+/gi, '__REDACTED_API_KEY__']
]

/** Replaces what has the form of a secret. */
export function maskSecrets (text: string): string {
  return KNOWN_FORMS.reduce((masked, [pattern, mask]) => masked.replaceAll(pattern, mask), text)
}

const SENSITIVE = /authorization|cookie|api[-_]?key|token|secret|password/

export function isSensitive (name: string): boolean {
  return SENSITIVE.test(name.toLowerCase())
}

/** Also finds a secret that JSON inside the text has written with escapes. */
export function createRedactor (secrets: readonly string[]): Redact {
  // A shorter secret may be the beginning of a longer one, whose rest would stay in the text.
  const longestFirst = secrets.filter(secret => secret !== '').sort((one, other) => other.length - one.length)
  if (longestFirst.length === 0) return text => text
  let spellings: RegExp | undefined
  return text => {
    // Only a backslash can write a character in another way; without one the plain search is enough, and many times as fast.
    if (!text.includes('\\')) return longestFirst.reduce((redacted, secret) => redacted.replaceAll(secret, REDACTED), text)
    spellings ??= new RegExp(longestFirst.map(anySpelling).join('|'), 'g')
    return text.replaceAll(spellings, REDACTED)
  }
}

export function redactJson (value: Json, secrets: readonly string[]): Json {
  return secrets.length === 0 ? value : redactMembers(value, createRedactor(secrets))
}

function redactMembers (value: Json, redact: Redact): Json {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item: Json) => redactMembers(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [redact(name), redactMembers(member as Json, redact)]))
}

/** As JSON escapes it, up to three levels deep: without this limit, a long run of backslashes would be read again and again. */
function anySpelling (text: string): string {
  return Array.from(text.matchAll(/\\+|[^\\]/gu), ([character]) => {
    // One expression for all backslashes in a row: with one for each, they could be shared out in very many ways.
    if (character.startsWith('\\')) return `\\\\(?:\\\\|u005[cC]){0,${8 * character.length - 1}}`
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\\\{0,7}(?:${character.replace(/\W/, '\\$&')}|u${code}|u${code.toUpperCase()})`
  }).join('')
}
