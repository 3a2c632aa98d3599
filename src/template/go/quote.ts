import { fromBytes, hasLoneSurrogate, toBytes } from './bytes.ts'

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\'
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')

export function isPrintable (character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}

const UNQUOTABLE = /["\\]|\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu
const UNQUOTABLE_AS_ASCII = /["\\]|\p{Cc}|[^\p{ASCII}]/gu

export function quoteText (text: string, asciiOnly = false): string {
  const quoted = text.replace(asciiOnly ? UNQUOTABLE_AS_ASCII : UNQUOTABLE, character => escape(character, '"', asciiOnly))
  return `"${quoted}"`
}

export function quoteRune (code: number, asciiOnly = false): string {
  const valid = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return `'${escape(valid ? String.fromCodePoint(code) : '\ufffd', "'", asciiOnly)}'`
}

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

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\'
}

const CODE_ESCAPES: Readonly<Record<string, readonly [digits: number, isByte: boolean]>> = { x: [2, true], u: [4, false], U: [8, false] }

interface Unquoted { readonly text: string, readonly length: number }

export function unquote (literal: string): string | undefined {
  const quote = literal[0]
  const body = literal.slice(1, -1)
  if (quote === '`') return body.replaceAll('\r', '')
  if (!body.includes('\\')) return body
  let text = ''
  for (let at = 0; at < body.length;) {
    const one = unquoteCharacter(body, at, '"')
    if (one === undefined) return undefined
    text += one.text
    at += one.length
  }
  // Bytes written one by one (`\xc3\xa9`) can together be a character.
  return fromBytes(toBytes(text))
}

export function unquoteRune (literal: string): number | 'invalid syntax' | 'malformed' {
  const one = literal[1] === "'" ? undefined : unquoteCharacter(literal, 1, "'")
  if (one === undefined) return 'invalid syntax'
  if (literal.slice(1 + one.length) !== "'") return 'malformed'
  const code = one.text.codePointAt(0) as number
  return one.length > 1 && code >= 0xdc80 && code <= 0xdcff ? code - 0xdc00 : code
}

function unquoteCharacter (source: string, at: number, quote: string): Unquoted | undefined {
  const character = String.fromCodePoint(source.codePointAt(at) as number)
  if (character !== '\\') return { text: character, length: character.length }
  const letter = source[at + 1] ?? ''
  const simple = Object.hasOwn(SIMPLE_ESCAPES, letter) ? SIMPLE_ESCAPES[letter] : letter === quote ? quote : undefined
  if (simple !== undefined) return { text: simple, length: 2 }
  if (letter >= '0' && letter <= '7') return octal(source.slice(at + 1, at + 4))
  const code = Object.hasOwn(CODE_ESCAPES, letter) ? CODE_ESCAPES[letter] : undefined
  return code === undefined ? undefined : hexadecimal(source.slice(at + 2, at + 2 + code[0]), ...code)
}

function octal (digits: string): Unquoted | undefined {
  if (!/^[0-7]{3}$/.test(digits)) return undefined
  const value = parseInt(digits, 8)
  return value > 255 ? undefined : { text: byte(value), length: 4 }
}

function hexadecimal (digits: string, count: number, isByte: boolean): Unquoted | undefined {
  if (digits.length !== count || !/^[\da-f]+$/i.test(digits)) return undefined
  const value = parseInt(digits, 16)
  if (isByte) return { text: byte(value), length: 2 + count }
  const isValid = value <= 0x10ffff && !(value >= 0xd800 && value <= 0xdfff)
  return isValid ? { text: String.fromCodePoint(value), length: 2 + count } : undefined
}

/** From 0x80 on a lone surrogate, until the bytes beside it complete a character. */
function byte (value: number): string {
  return String.fromCharCode(value < 0x80 ? value : 0xdc00 + value)
}
