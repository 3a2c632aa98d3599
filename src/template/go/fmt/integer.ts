import { isPrintable, quoteRune } from './quote.ts'
import { type Flags } from './flags.ts'
import { type Charge, pad, padding, padWithSpaces } from './pad.ts'

const BASES: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }
const MAX_RUNE = 0x10ffff

/** Writes an int as `%v` does. -0 is 0 in Go. */
export function intText (value: number): string {
  return value === 0 ? '0' : `${value}`
}

/** Formats an integer by a verb; `undefined` when the verb is not one for integers. @param isSigned false for a uint8 */
export function formatInteger (flags: Readonly<Flags>, value: number | bigint, isSigned: boolean, verb: string, charge: Charge): string | undefined {
  if (verb === 'v' && flags.sharpV && !isSigned) return digitsOf({ ...flags, sharp: true }, value, 16, 'v', charge)
  const base = BASES[verb]
  if (base !== undefined) return digitsOf(flags, value, base, verb, charge)
  switch (verb) {
    case 'c': return pad(flags, characterOf(value), charge)
    case 'q': return pad(flags, quoteRune(codeOf(value), flags.plus), charge)
    case 'U': return unicode(flags, value, charge)
    default: return undefined
  }
}

function digitsOf (flags: Readonly<Flags>, value: number | bigint, base: number, verb: string, charge: Charge): string {
  const isNegative = value < 0
  const { precision } = flags
  if (precision === 0 && (value === 0 || value === 0n)) return padding({ ...flags, zero: false }, flags.width ?? 0, charge)
  const size = isNegative ? -value : value
  let digits = size.toString(base)
  if (verb === 'X') digits = digits.toUpperCase()
  const least = leastDigits(flags, isNegative)
  if (digits.length < least) {
    charge(least)
    digits = digits.padStart(least, '0')
  }
  return padWithSpaces(flags, signOf(flags, isNegative) + prefixOf(flags, base, verb, digits) + digits, charge)
}

/** The least number of digits. Leading zeros can be asked for as %.3d or as %03d; the first form wins. */
function leastDigits (flags: Readonly<Flags>, isNegative: boolean): number {
  if (flags.precision !== undefined) return flags.precision
  if (!flags.zero || flags.minus || flags.width === undefined) return 0
  return isNegative || flags.plus || flags.space ? flags.width - 1 : flags.width
}

function signOf (flags: Readonly<Flags>, isNegative: boolean): string {
  return isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
}

function prefixOf (flags: Readonly<Flags>, base: number, verb: string, digits: string): string {
  if (verb === 'O') return flags.sharp && !digits.startsWith('0') ? '0o0' : '0o'
  if (!flags.sharp) return ''
  if (base === 2) return '0b'
  if (base === 8) return digits.startsWith('0') ? '' : '0'
  return base === 16 ? (verb === 'X' ? '0X' : '0x') : ''
}

/** The integer as a code point; U+FFFD for an integer that is no code point. */
function codeOf (value: number | bigint): number {
  return value < 0 || value > MAX_RUNE ? 0xfffd : Number(value)
}

function characterOf (value: number | bigint): string {
  const code = codeOf(value)
  return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : String.fromCodePoint(code)
}

/** Writes an integer as %U: U+0041, and with the flag # the character after it. */
function unicode (flags: Readonly<Flags>, value: number | bigint, charge: Charge): string {
  const bits = BigInt.asUintN(64, BigInt(value))
  const least = Math.max(flags.precision ?? 4, 4)
  charge(least)
  let text = `U+${bits.toString(16).toUpperCase().padStart(least, '0')}`
  if (flags.sharp && bits <= BigInt(MAX_RUNE)) {
    const character = String.fromCodePoint(Number(bits))
    if (isPrintable(character)) text += ` '${character}'`
  }
  return padWithSpaces(flags, text, charge)
}
