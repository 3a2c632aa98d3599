import { isPrintable } from '../fmt/quote.ts'
import { toBytes } from '../value/bytes.ts'

const HTML: Readonly<Record<string, string>> = { '\0': '\ufffd', '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const SCRIPT: Readonly<Record<string, string>> = {
  '\\': '\\\\', "'": "\\'", '"': '\\"', '<': '\\u003C', '>': '\\u003E', '&': '\\u0026', '=': '\\u003D'
}

/** Go's HTMLEscapeString. */
export function escapeHtml (text: string): string {
  return text.replace(/[\0"'&<>]/g, character => HTML[character] as string)
}

/** Go's JSEscapeString. */
export function escapeScript (text: string): string {
  return text.replace(/[^ !#-%(-;?-[\]-~\x7f]/gu, character => {
    const known = Object.hasOwn(SCRIPT, character) ? SCRIPT[character] : undefined
    if (known !== undefined || isPrintable(character)) return known ?? character
    const code = character.codePointAt(0) as number
    // A byte that is no character reads as U+FFFD, which can be printed.
    return code >= 0xdc80 && code <= 0xdcff ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** Go's url.QueryEscape. */
export function escapeQuery (text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text
  let escaped = ''
  for (const byte of toBytes(text)) {
    const character = String.fromCharCode(byte)
    if (character === ' ') escaped += '+'
    else escaped += /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}
