import { utf8In } from '../base/text.ts'
import { MAX_VALUE_BYTES, type StoredValue } from './store.ts'

/** The result for a value that is too large to be read. @param bytes the value's size */
export function tooLarge (bytes: number): StoredValue {
  return { kind: 'bad', reason: `is ${bytes} bytes long; at most ${MAX_VALUE_BYTES} are allowed` }
}

/**
 * Decodes a stored value as UTF-8 text. Decoding is strict: a value in another encoding is reported as such, and never becomes a prompt full of
 * replacement characters.
 * @param expiresAt when the store will drop the value, Unix time in ms
 */
export function decodeBytes (bytes: Uint8Array, expiresAt?: number): StoredValue {
  if (bytes.length > MAX_VALUE_BYTES) return tooLarge(bytes.length)
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { kind: 'bad', reason: 'begins with a byte order mark; save it as UTF-8 without BOM' }
  }
  const text = utf8In(bytes)
  if (text === undefined) return { kind: 'bad', reason: `is not valid UTF-8 (first wrong byte: ${firstWrongByte(bytes)})` }
  return expiresAt === undefined ? { kind: 'text', text } : { kind: 'text', text, expiresAt }
}

/** The offset, from 0, of the first byte that is not valid UTF-8. */
function firstWrongByte (bytes: Uint8Array): number {
  const lenient = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  for (let index = lenient.indexOf('\uFFFD'), offset = 0, from = 0; index !== -1; index = lenient.indexOf('\uFFFD', from)) {
    offset += Buffer.byteLength(lenient.slice(from, index))
    const isWrittenOut = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!isWrittenOut) return offset
    offset += 3
    from = index + 1
  }
  return bytes.length
}
