import { memberNames, NOTHING } from '../value.ts'
import { runeCount, sortedKeys, toBytes } from './bytes.ts'
import { floatOf, GoByte, type GoComplex, type GoMap, type GoValue, integerOf, kindOf, typeName } from './go-value.ts'
import { type Charge, type Flags, floatText, type FloatVerb, formatFloat, formatInteger, intText, pad, padding, padWithSpaces, PLAIN } from './format-number.ts'
import { canBackquote, quoteText } from './quote.ts'

const VERBS: Readonly<Record<string, readonly [verb: FloatVerb, precision: number]>> = {
  v: ['g', -1], b: ['b', -1], g: ['g', -1], G: ['G', -1], x: ['x', -1], X: ['X', -1], f: ['f', 6], e: ['e', 6], E: ['E', 6], F: ['f', 6]
}

const FLOAT_ONLY_VERBS: ReadonlySet<string> = new Set(['e', 'E', 'f', 'F', 'g', 'G'])

function isFloatVerb (verb: string): boolean {
  return Object.hasOwn(VERBS, verb)
}

function formatNumber (flags: Readonly<Flags>, value: number, verb: string, charge: Charge): string {
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
  // Zeros go between the sign and the digits.
  if (flags.zero && !flags.minus && flags.width !== undefined && flags.width > digits.length + 1) {
    return sign + padding(flags, flags.width - digits.length - 1, charge) + digits
  }
  return pad(flags, sign + digits, charge)
}

function notFinite (flags: Readonly<Flags>, sign: string, text: string, charge: Charge): string {
  const isBare = text === 'NaN' && !flags.space && !flags.plus
  return padWithSpaces(flags, isBare ? text : sign + text, charge)
}

/** The flag # always shows the point, and keeps the zeros that %g would drop. */
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

/** In characters. */
const CHARACTERS_PER_WORK_UNIT = 64

/** In visits: names are sorted, looked up and printed. */
const WORK_PER_MEMBER = 8
/** In visits, for more than 308 digits. */
const HUGE_INTEGER_WORK = 50_000

export class Printer {
  readonly #visit: (visits: number) => void
  readonly #charge: Charge

  /** `visit` is called before the work: one for each element, and for each 64 characters. */
  constructor (visit: (visits: number) => void) {
    this.#visit = visit
    this.#charge = characters => visit(Math.ceil(characters / CHARACTERS_PER_WORK_UNIT))
  }

  text (value: GoValue): string {
    switch (typeof value) {
      case 'string': return value
      case 'number': return Number.isSafeInteger(value) ? intText(value) : floatText(value)
      case 'bigint': return this.#large(value)
      case 'boolean': return value ? 'true' : 'false'
      default: return this.argument(value, 'v', PLAIN)
    }
  }

  /** Writing digits takes more than linear time, so an integer that no double can represent costs extra. */
  #large (value: bigint): string {
    if (!Number.isFinite(Number(value))) this.#visit(HUGE_INTEGER_WORK)
    return value.toString()
  }

  /** Nil gives an empty text, except inside a list or a map. */
  argument (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    if (value === null || value === NOTHING) return pad(flags, '', this.#charge)
    if (verb === 'T') return formatText(flags, typeName(value), 's', this.#charge) as string
    if (verb === 'p') return this.#pointer(value, verb, flags)
    return this.#value(value, verb, flags)
  }

  #value (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    const kind = kindOf(value)
    if (verb === 'w' && (kind === 'slice' || kind === 'map')) return this.#badVerb(value, verb, flags)
    switch (kind) {
      case 'nil': return flags.sharpV ? 'interface {}(nil)' : '<nil>'
      case 'string':
        // The whole text is charged even if it is cut: a cut counts all characters, and the same text can occur many times.
        if ((value as string).length > CHARACTERS_PER_WORK_UNIT) this.#charge((value as string).length)
        return formatText(flags, value as string, verb, this.#charge) ?? this.#badVerb(value, verb, flags)
      case 'bool': return verb === 't' || verb === 'v' ? pad(flags, String(value), this.#charge) : this.#badVerb(value, verb, flags)
      case 'int':
      case 'uint8': return this.#integer(value, verb, flags)
      case 'float64': return this.#float(value, verb, flags)
      case 'complex128': return this.#complex(value as GoComplex, verb, flags)
      case 'slice': return this.#slice(value as readonly GoValue[], verb, flags)
      case 'map': return this.#map(value as GoMap, verb, flags)
    }
  }

  #integer (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    if (!Number.isFinite(Number(integerOf(value)))) this.#visit(HUGE_INTEGER_WORK)
    if (FLOAT_ONLY_VERBS.has(verb)) return formatNumber(flags, Number(integerOf(value)), verb, this.#charge)
    return formatInteger(flags, integerOf(value), !(value instanceof GoByte), verb, this.#charge) ?? this.#badVerb(value, verb, flags)
  }

  #float (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    return isFloatVerb(verb) ? formatNumber(flags, floatOf(value), verb, this.#charge) : this.#badVerb(value, verb, flags)
  }

  #complex (value: GoComplex, verb: string, flags: Readonly<Flags>): string {
    if (!isFloatVerb(verb)) return this.#badVerb(value, verb, flags)
    const real = formatNumber(flags, value.real, verb, this.#charge)
    // The imaginary part always has a sign.
    return `(${real}${formatNumber({ ...flags, plus: true }, value.imaginary, verb, this.#charge)}i)`
  }

  #slice (list: readonly GoValue[], verb: string, flags: Readonly<Flags>): string {
    this.#visit(list.length)
    const parts = list.map(element => this.#value(element, verb, flags))
    return flags.sharpV ? `[]interface {}{${parts.join(', ')}}` : `[${parts.join(' ')}]`
  }

  #map (map: GoMap, verb: string, flags: Readonly<Flags>): string {
    this.#visit(WORK_PER_MEMBER * memberNames(map).length)
    const keys = sortedKeys(map)
    const parts = keys.map(key => `${this.#value(key, verb, flags)}:${this.#value(map[key] as GoValue, verb, flags)}`)
    return flags.sharpV ? `map[string]interface {}{${parts.join(', ')}}` : `map[${parts.join(' ')}]`
  }

  #pointer (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    const kind = kindOf(value)
    return kind === 'slice' || kind === 'map' ? '0x0' : this.#badVerb(value, verb, flags)
  }

  /** `%!d(string=x)`; the value in it has the same flags. */
  #badVerb (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    return `%!${verb}(${typeName(value)}=${this.#value(value, 'v', flags)})`
  }
}

function formatText (flags: Readonly<Flags>, text: string, verb: string, charge: Charge): string | undefined {
  switch (verb) {
    case 'v': return flags.sharpV ? quoted(flags, text, charge) : pad(flags, truncate(flags, text), charge)
    case 's': return pad(flags, truncate(flags, text), charge)
    case 'q': return quoted(flags, text, charge)
    case 'x':
    case 'X': return hexadecimal(flags, text, verb, charge)
    default: return undefined
  }
}

function quoted (flags: Readonly<Flags>, text: string, charge: Charge): string {
  const wanted = truncate(flags, text)
  charge((flags.plus ? 6 : 1) * wanted.length)
  if (flags.sharp && canBackquote(wanted)) return pad(flags, `\`${wanted}\``, charge)
  return pad(flags, quoteText(wanted, flags.plus), charge)
}

function truncate ({ precision }: Readonly<Flags>, text: string): string {
  if (precision === undefined || text.length <= precision || runeCount(text) <= precision) return text
  return Array.from(text.slice(0, 2 * precision)).slice(0, precision).join('')
}

function hexadecimal (flags: Readonly<Flags>, text: string, verb: 'x' | 'X', charge: Charge): string {
  charge(5 * text.length)
  const all = toBytes(text)
  const bytes = flags.precision === undefined ? all : all.subarray(0, flags.precision)
  const mark = flags.sharp ? `0${verb}` : ''
  const pairs = Array.from(bytes, byte => {
    const pair = byte.toString(16).padStart(2, '0')
    return verb === 'x' ? pair : pair.toUpperCase()
  })
  const digits = pairs.length === 0 ? '' : flags.space ? pairs.map(pair => mark + pair).join(' ') : mark + pairs.join('')
  const fill = padding(flags, (flags.width ?? 0) - digits.length, charge)
  return flags.minus ? digits + fill : fill + digits
}
