import { hasLoneSurrogate, toBytes } from '../value/bytes.ts'

const HTML: Readonly<Record<string, string>> = { '\0': '\ufffd', '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const SCRIPT: Readonly<Record<string, string>> = {
  '\\': '\\\\', "'": "\\'", '"': '\\"', '<': '\\u003C', '>': '\\u003E', '&': '\\u0026', '=': '\\u003D'
}

/** Go's HTMLEscapeString. */
export function escapeHtml (text: string): string {
  return text.replace(/[\0"'&<>]/g, character => HTML[character] as string)
}

/** What a script's string cannot hold as it is: its delimiters, controls but DEL, and what cannot be printed. */
const UNSAFE_IN_SCRIPT = /[\\'"<>&=]|(?!\u007f)\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu

/** Go's JSEscapeString. */
export function escapeScript (text: string): string {
  return text.replace(UNSAFE_IN_SCRIPT, character => {
    if (Object.hasOwn(SCRIPT, character)) return SCRIPT[character] as string
    const code = character.codePointAt(0) as number
    // A byte that is no character reads as U+FFFD, which can be printed.
    return code >= 0xdc80 && code <= 0xdcff ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** Go's url.QueryEscape, which escapes what encodeURIComponent leaves, and writes a space as `+`. */
export function escapeQuery (text: string): string {
  const encoded = hasLoneSurrogate(text) ? encodeBytes(text) : encodeURIComponent(text)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+')
}

function encodeBytes (text: string): string {
  return Array.from(toBytes(text), byte => byte < 0x80 ? encodeURIComponent(String.fromCharCode(byte)) : `%${byte.toString(16).toUpperCase()}`).join('')
}
