import { type Flags } from './flags.ts'
import { type FloatVerb, formatFloat } from './float.ts'
import { type Charge, pad, padding, padWithSpaces } from './pad.ts'

/** The verbs for floats, each with its name in strconv and its default precision. */
const VERBS: Readonly<Record<string, readonly [verb: FloatVerb, precision: number]>> = {
  v: ['g', -1], b: ['b', -1], g: ['g', -1], G: ['G', -1], x: ['x', -1], X: ['X', -1], f: ['f', 6], e: ['e', 6], E: ['E', 6], F: ['f', 6]
}

/** The verbs that only floats have. */
export const FLOAT_ONLY_VERBS: ReadonlySet<string> = new Set(['e', 'E', 'f', 'F', 'g', 'G'])

/** Whether a verb can format floats. */
export function isFloatVerb (verb: string): boolean {
  return Object.hasOwn(VERBS, verb)
}

/** Formats a float by a verb for floats. */
export function formatNumber (flags: Readonly<Flags>, value: number, verb: string, charge: Charge): string {
  const [kind, ownPrecision] = VERBS[verb] as [FloatVerb, number]
  const precision = flags.precision ?? ownPrecision
  charge(precision)
  const text = formatFloat(value, kind, precision)
  const isSigned = text.startsWith('-') || text.startsWith('+')
  const sign = isSigned ? text.charAt(0) : flags.space && !flags.plus ? ' ' : '+'
  const size = isSigned ? text.slice(1) : text
  if (size === 'Inf' || size === 'NaN') return notFinite(flags, sign, size, charge)
  const digits = flags.sharp && kind !== 'b' ? withPoint(size, kind, precision) : size
  if (!flags.plus && sign === '+') return pad(flags, digits, charge)
  // Padding with zeros goes between the sign and the digits.
  if (flags.zero && !flags.minus && flags.width !== undefined && flags.width > digits.length + 1) {
    return sign + padding(flags, flags.width - digits.length - 1, charge) + digits
  }
  return pad(flags, sign + digits, charge)
}

function notFinite (flags: Readonly<Flags>, sign: string, text: string, charge: Charge): string {
  const isBare = text === 'NaN' && !flags.space && !flags.plus
  return padWithSpaces(flags, isBare ? text : sign + text, charge)
}

/** Applies the flag # to a float: the decimal point is always shown, and the zeros that %g would drop are kept. */
function withPoint (text: string, kind: FloatVerb, precision: number): string {
  const at = text.search(kind === 'x' || kind === 'X' ? /p/i : /[epEP]/)
  let number = at < 0 ? text : text.slice(0, at)
  const tail = at < 0 ? '' : text.slice(at)
  let missing = kind === 'g' || kind === 'G' || kind === 'x' ? (precision === -1 ? 6 : precision) : 0
  missing -= number.replace('.', '').replace(/^0+/, '').length
  if (!number.includes('.')) {
    if (number === '0') missing--
    number += '.'
  }
  return number + '0'.repeat(Math.max(missing, 0)) + tail
}
