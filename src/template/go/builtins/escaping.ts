import { hasLoneSurrogate, toBytes } from '../value/bytes.ts'

const HTML: Readonly<Record<string, string>> = { '\0': '\ufffd', '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const SCRIPT: Readonly<Record<string, string>> = {
  '\\': '\\\\', "'": "\\'", '"': '\\"', '<': '\\u003C', '>': '\\u003E', '&': '\\u0026', '=': '\\u003D'
}

/** Escapes a text for HTML as Go's HTMLEscapeString does. */
export function escapeHtml (text: string): string {
  return text.replace(/[\0"'&<>]/g, character => HTML[character] as string)
}

/** Matches what Go escapes in a script's string literal: quotes, `\`, `<>&=`, control characters except DEL, and characters that cannot be printed. */
const UNSAFE_IN_SCRIPT = /[\\'"<>&=]|(?!\u007f)\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu

/** Escapes a text for a string literal in a script, as Go's JSEscapeString does. */
export function escapeScript (text: string): string {
  return text.replace(UNSAFE_IN_SCRIPT, character => {
    if (Object.hasOwn(SCRIPT, character)) return SCRIPT[character] as string
    const code = character.codePointAt(0) as number
    // U+DC80 to U+DCFF stand for bytes that are part of no character. Go reads such a byte as U+FFFD, which can be printed, and so does not escape it.
    return code >= 0xdc80 && code <= 0xdcff ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** Escapes a text for a query as Go's url.QueryEscape does. It also escapes what encodeURIComponent leaves, and writes a space as `+`. */
export function escapeQuery (text: string): string {
  const encoded = hasLoneSurrogate(text) ? encodeBytes(text) : encodeURIComponent(text)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+')
}

function encodeBytes (text: string): string {
  return Array.from(toBytes(text), byte => byte < 0x80 ? encodeURIComponent(String.fromCharCode(byte)) : `%${byte.toString(16).toUpperCase()}`).join('')
}
