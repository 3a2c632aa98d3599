import { hasLoneSurrogate } from '../value/bytes.ts'

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\'
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')

/** Whether Go prints a character as it is: a letter, mark, number, punctuation, symbol or the ASCII space. */
export function isPrintable (character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}

/** Matches characters that a literal cannot contain as they are; the second pattern is for literals with ASCII only. */
const UNQUOTABLE = /["\\]|\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu
const UNQUOTABLE_AS_ASCII = /["\\]|\p{Cc}|[^\p{ASCII}]/gu

/** Quotes a text as a Go string literal in double quotes, as `%q` does. */
export function quoteText (text: string, asciiOnly = false): string {
  const quoted = text.replace(asciiOnly ? UNQUOTABLE_AS_ASCII : UNQUOTABLE, character => escape(character, '"', asciiOnly))
  return `"${quoted}"`
}

/** Quotes a character as a Go literal in single quotes. */
export function quoteRune (code: number, asciiOnly = false): string {
  const valid = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return `'${escape(valid ? String.fromCodePoint(code) : '\ufffd', "'", asciiOnly)}'`
}

/** Whether a text can be written between backquotes, unchanged and on one line. */
export function canBackquote (text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if ((unit < 0x20 && unit !== 0x09) || unit === 0x60 || unit === 0x7f || unit === 0xfeff) return false
  }
  return !hasLoneSurrogate(text)
}

function escape (character: string, quote: string, asciiOnly: boolean): string {
  if (character === quote) return `\\${quote}`
  const short = SHORT_ESCAPES[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0) as number
  if (code >= 0xd800 && code <= 0xdfff) return code >= 0xdc80 && code <= 0xdcff ? `\\x${hex(code - 0xdc00, 2)}` : '\ufffd'
  if (code < 0x80 ? code >= 0x20 && code < 0x7f : !asciiOnly && isPrintable(character)) return character
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}
