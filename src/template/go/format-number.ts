import { withoutEnd } from '../../base/text.ts'
import { runeCount } from './bytes.ts'
import { isPrintable, quoteRune } from './quote.ts'

/** The verbs of strconv.FormatFloat; a `precision` of -1 is the shortest exact form. */
export type FloatVerb = 'b' | 'e' | 'E' | 'f' | 'g' | 'G' | 'x' | 'X'

/** The most that a double has; further ones are zeros. */
const MAX_DIGITS = 1100

/** With this many digits, no double is rounded up to a power of ten. */
const EXPONENT_DIGITS = 40

/** 0.digits × 10^point. */
interface Decimal { readonly digits: string, readonly point: number }

export function formatFloat (value: number, verb: FloatVerb, precision: number): string {
  if (Number.isNaN(value)) return 'NaN'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const size = Math.abs(value)
  if (size === Infinity) return sign === '' ? '+Inf' : '-Inf'
  return sign + formatSize(size, verb, precision)
}

export function floatText (value: number): string {
  const size = Math.abs(value)
  // In this range Go and JavaScript give the same digits.
  if (size >= 1e-4 && size < 1e6) return String(value)
  return formatFloat(value, 'g', -1)
}

function formatSize (size: number, verb: FloatVerb, precision: number): string {
  switch (verb) {
    case 'b': return binary(size)
    case 'x': return hexadecimal(size, precision)
    case 'X': return hexadecimal(size, precision).toUpperCase()
    case 'f': return precision < 0 ? plain(shortest(size), -1) : fixed(size, precision)
    case 'e':
    case 'E': return scientific(precision < 0 ? shortest(size) : rounded(size, precision + 1), precision, verb)
    default: return general(size, verb, precision)
  }
}

/** An exponent below -4, or not below the precision, for which 6 stands in the shortest form. */
function general (size: number, verb: 'g' | 'G', precision: number): string {
  const wanted = Math.max(precision, 1)
  const decimal = precision < 0 ? shortest(size) : trimZeros(rounded(size, wanted))
  const { digits, point } = decimal
  const limit = precision < 0 ? 6 : wanted > digits.length && digits.length >= point ? digits.length : wanted
  const isExponential = point - 1 < -4 || point - 1 >= limit
  if (isExponential) return scientific(decimal, digits.length - 1, verb === 'g' ? 'e' : 'E')
  return plain(decimal, Math.max(digits.length - point, 0))
}

function scientific (decimal: Decimal, precision: number, letter: 'e' | 'E'): string {
  const rest = precision < 0 ? decimal.digits.slice(1) : decimal.digits.slice(1).padEnd(precision, '0')
  const exponent = /^0*$/.test(decimal.digits) ? 0 : decimal.point - 1
  const digits = String(Math.abs(exponent)).padStart(2, '0')
  return `${decimal.digits[0]}${rest === '' ? '' : `.${rest}`}${letter}${exponent < 0 ? '-' : '+'}${digits}`
}

function plain ({ digits, point }: Decimal, precision: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0'
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits
  const wanted = precision < 0 ? fraction : fraction.padEnd(precision, '0').slice(0, precision)
  return wanted === '' || (precision < 0 && /^0*$/.test(wanted)) ? whole : `${whole}.${wanted}`
}

/** JavaScript prints the fewest digits that read back as the same number. */
function shortest (size: number): Decimal {
  if (size === 0) return { digits: '0', point: 1 }
  const [mantissa, exponent] = size.toExponential().split('e') as [string, string]
  return { digits: mantissa.replace('.', ''), point: Number(exponent) + 1 }
}

/** Exact, with ties to even; `toFixed` rounds ties up, so it only serves where none is possible. */
function fixed (size: number, precision: number): string {
  if (precision > MAX_DIGITS) return fixed(size, MAX_DIGITS) + '0'.repeat(precision - MAX_DIGITS)
  const isTiePossible = Number.isInteger(size * 2 ** (precision + 1))
  if (precision <= 100 && size < 1e21 && !isTiePossible) return size.toFixed(precision)
  const digits = String(scaled(size, precision)).padStart(precision + 1, '0')
  const point = digits.length - precision
  return precision === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
}

/** Exact, with ties to even. */
function rounded (size: number, count: number): Decimal {
  if (count > MAX_DIGITS) return rounded(size, MAX_DIGITS)
  if (size === 0) return { digits: '0'.repeat(count), point: 1 }
  // Not from the shortest form, which can round up to a power of ten: `1e-12` stands for 9.99…e-13.
  let point = Number(size.toExponential(EXPONENT_DIGITS).split('e')[1]) + 1
  let digits = String(scaled(size, count - point))
  // Rounding up can give one more digit: 9.99 becomes 10.0.
  if (digits.length > count) {
    point++
    digits = digits.slice(0, count)
  }
  return { digits, point }
}

function trimZeros ({ digits, point }: Decimal): Decimal {
  const trimmed = withoutEnd(digits, '0')
  return trimmed === '' ? { digits: '0', point: 1 } : { digits: trimmed, point }
}

function scaled (size: number, power: number): bigint {
  const { mantissa, exponent } = parts(size)
  let numerator = mantissa
  let denominator = 1n
  if (exponent >= 0) numerator <<= BigInt(exponent)
  else denominator <<= BigInt(-exponent)
  if (power >= 0) numerator *= 10n ** BigInt(power)
  else denominator *= 10n ** BigInt(-power)
  const quotient = numerator / denominator
  const twice = (numerator % denominator) * 2n
  const isUp = twice > denominator || (twice === denominator && (quotient & 1n) === 1n)
  return isUp ? quotient + 1n : quotient
}

function parts (size: number): { mantissa: bigint, exponent: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, size)
  const bits = view.getBigUint64(0)
  const exponent = Number(bits >> 52n)
  const fraction = bits & 0xfffffffffffffn
  return exponent === 0 ? { mantissa: fraction, exponent: -1074 } : { mantissa: fraction | 0x10000000000000n, exponent: exponent - 1075 }
}

function binary (size: number): string {
  const { mantissa, exponent } = parts(size)
  return `${mantissa}p${exponent < 0 ? '' : '+'}${exponent}`
}

function hexadecimal (size: number, precision: number): string {
  let { mantissa, exponent } = parts(size)
  if (mantissa === 0n) return `0x0${precision > 0 ? `.${'0'.repeat(precision)}` : ''}p+00`
  exponent += 60
  // Go shifts the leading 1 to bit 60, so that 15 hexadecimal digits follow it.
  mantissa <<= 8n
  while (mantissa < 1n << 60n) {
    mantissa <<= 1n
    exponent--
  }
  exponent -= 8
  if (precision >= 0 && precision < 15) {
    const shift = BigInt(precision * 4)
    const extra = (mantissa << shift) & ((1n << 60n) - 1n)
    mantissa >>= 60n - shift
    if ((extra | (mantissa & 1n)) > 1n << 59n) mantissa++
    mantissa <<= 60n - shift
    if ((mantissa & (1n << 61n)) !== 0n) {
      mantissa >>= 1n
      exponent++
    }
  }
  const all = (mantissa & ((1n << 60n) - 1n)).toString(16).padStart(15, '0')
  const digits = precision < 0 ? withoutEnd(all, '0') : all.padEnd(precision, '0').slice(0, precision)
  const power = String(Math.abs(exponent)).padStart(2, '0')
  return `0x1${digits === '' ? '' : `.${digits}`}p${exponent < 0 ? '-' : '+'}${power}`
}

export class Flags {
  minus = false
  plus = false
  sharp = false
  space = false
  zero = false
  /** Go treats `%+v` and `%#v` as formats of their own, so `plus` and `sharp` are off then. */
  plusV = false
  sharpV = false
  width: number | undefined = undefined
  precision: number | undefined = undefined
}

export const PLAIN: Readonly<Flags> = Object.freeze(new Flags())

/** Called before the text is made. */
export type Charge = (characters: number) => void

export function padding (flags: Readonly<Flags>, count: number, charge: Charge): string {
  if (count <= 0) return ''
  charge(count)
  return (flags.zero && !flags.minus ? '0' : ' ').repeat(count)
}

export function pad (flags: Readonly<Flags>, text: string, charge: Charge): string {
  if (flags.width === undefined || flags.width === 0) return text
  const fill = padding(flags, flags.width - runeCount(text), charge)
  return flags.minus ? text + fill : fill + text
}

export function padWithSpaces (flags: Readonly<Flags>, text: string, charge: Charge): string {
  return pad(flags.zero ? { ...flags, zero: false } : flags, text, charge)
}

const BASES: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }
const MAX_RUNE = 0x10ffff

/** -0 is 0 in Go. */
export function intText (value: number): string {
  return value === 0 ? '0' : `${value}`
}

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

/** As %.3d or %03d; the first form wins. */
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

function codeOf (value: number | bigint): number {
  return value < 0 || value > MAX_RUNE ? 0xfffd : Number(value)
}

function characterOf (value: number | bigint): string {
  const code = codeOf(value)
  return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : String.fromCodePoint(code)
}

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
