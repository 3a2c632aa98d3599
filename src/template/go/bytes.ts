import { rememberingNames } from '../value.ts'

/** Go strings are bytes: one of no valid UTF-8 is kept as U+DC00 + byte, as Python's `surrogateescape` does. */
const ESCAPE = 0xdc00

/** In UTF-16 units. */
const PIECE = 512

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
const isEscape = (unit: number): boolean => unit >= ESCAPE + 0x80 && unit <= ESCAPE + 0xff

export function byteLength (text: string): number {
  if (text.isWellFormed()) return Buffer.byteLength(text)
  let bytes = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (isHigh(unit) && isLow(text.charCodeAt(index + 1))) {
      bytes += 4
      index++
    } else bytes += isEscape(unit) ? 1 : 3
  }
  return bytes
}

/** A lone surrogate that stands for no byte becomes U+FFFD. */
export function toBytes (text: string): Uint8Array {
  if (!hasLoneSurrogate(text)) return Buffer.from(text, 'utf8')
  const bytes = Buffer.alloc(byteLength(text))
  let at = 0
  for (let index = 0, start = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (isHigh(unit) && isLow(text.charCodeAt(index + 1))) index++
    if (!isEscape(unit) && index + 1 < text.length) continue
    const end = isEscape(unit) ? index : index + 1
    if (end > start) at += bytes.write(text.slice(start, end), at, 'utf8')
    if (isEscape(unit)) bytes[at++] = unit - ESCAPE
    start = index + 1
  }
  return bytes
}

export function fromBytes (bytes: Uint8Array): string {
  let text = ''
  let valid = 0
  for (let index = 0; index < bytes.length;) {
    const size = sequenceLength(bytes, index)
    if (size > 0) {
      index += size
      continue
    }
    text += utf8(bytes, valid, index) + String.fromCharCode(ESCAPE + (bytes[index] as number))
    valid = ++index
  }
  return text + utf8(bytes, valid, bytes.length)
}

/** Bytes that now stand side by side and are valid UTF-8 become characters. */
export function joinBytes (text: string): string {
  return hasLoneSurrogate(text) ? fromBytes(toBytes(text)) : text
}

/** A byte that is part of no character becomes U+FFFD, as in Go's JSON. */
export function toUnicode (text: string): string {
  return joinBytes(text).toWellFormed()
}

/** A character whose bytes lie in several pieces goes into the first of them. */
export function toUnicodePieces (pieces: readonly string[]): string[] {
  const parts = pieces.map(toBytes)
  const bytes = Buffer.concat(parts)
  let end = 0
  let start = 0
  return parts.map(({ length }) => {
    end += length
    const first = start
    start = characterEnd(bytes, end)
    return fromBytes(bytes.subarray(first, start)).toWellFormed()
  })
}

export function hasLoneSurrogate (text: string): boolean {
  return !text.isWellFormed()
}

/** Code points, and bytes that are part of none. */
export function runeCount (text: string): number {
  let runes = 0
  for (let index = 0; index < text.length; index++) {
    if (isHigh(text.charCodeAt(index)) && isLow(text.charCodeAt(index + 1))) index++
    runes++
  }
  return runes
}

/** By bytes, which is the order of code points: JavaScript's differs where surrogates occur. */
export function compareTexts (left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = equalPieces(left, right, length); index < length; index++) {
    const one = left.charCodeAt(index)
    const other = right.charCodeAt(index)
    if (one === other) continue
    const isByte = (isEscape(one) || isEscape(other)) && !isHigh(left.charCodeAt(index - 1))
    return isByte ? Buffer.compare(toBytes(left), toBytes(right)) : rank(one) - rank(other)
  }
  return left.length - right.length
}

/** V8 compares pieces as fast as memory is read; a loop over characters would be slower. */
function equalPieces (left: string, right: string, length: number): number {
  let start = 0
  while (start < length && left.slice(start, start + PIECE) === right.slice(start, start + PIECE)) start += PIECE
  return start
}

function rank (unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

/** By their bytes, as Go sorts the keys of a map. */
export const sortedKeys = rememberingNames(value => {
  const keys = Object.keys(value)
  return keys.length < 2 ? keys : keys.sort(compareTexts)
})

function utf8 (bytes: Uint8Array, from: number, to: number): string {
  return from === to ? '' : Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
}

function sequenceLength (bytes: Uint8Array, index: number): number {
  const first = bytes[index] as number
  if (first < 0x80) return 1
  const size = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0
  if (size === 0 || index + size > bytes.length) return 0
  for (let offset = 1; offset < size; offset++) if (((bytes[index + offset] as number) & 0xc0) !== 0x80) return 0
  return isWellPlaced(first, bytes[index + 1] as number) ? size : 0
}

function characterEnd (bytes: Uint8Array, index: number): number {
  for (let first = Math.max(index - 3, 0); first < index; first++) {
    const end = first + sequenceLength(bytes, first)
    if (end > index) return end
  }
  return index
}

/** Overlong forms, surrogates and code points beyond U+10FFFF are not. */
function isWellPlaced (first: number, second: number): boolean {
  if (first === 0xe0) return second >= 0xa0
  if (first === 0xed) return second <= 0x9f
  if (first === 0xf0) return second >= 0x90
  return first !== 0xf4 || second <= 0x8f
}
