import { memberNames } from '../../member-names.ts'
import { NOTHING } from '../../value.ts'
import { sortedKeys } from '../value/bytes.ts'
import { GoByte, type GoComplex, type GoMap, type GoValue } from '../value/go-value.ts'
import { floatOf, integerOf, kindOf, typeName } from '../value/kind.ts'
import { type Flags, PLAIN } from './flags.ts'
import { floatText } from './float.ts'
import { formatInteger, intText } from './integer.ts'
import { FLOAT_ONLY_VERBS, formatNumber, isFloatVerb } from './number.ts'
import { type Charge, pad } from './pad.ts'
import { formatText } from './text.ts'

/** The length of printed text that costs one visit (the unit in which the work of a render is counted), in characters. */
const CHARACTERS_PER_VISIT = 64

/** The cost of a member of a map, in visits (units of a render's work). Names are sorted, looked up and printed, and so cost more than elements. */
const VISITS_PER_MEMBER = 8
/** The cost of an integer with more than 308 digits, in visits (units of a render's work). */
const HUGE_INTEGER_VISITS = 50_000

/** Go's package fmt: formats a value by `%v`, `%d` and all other verbs. */
export class Printer {
  readonly #visit: (visits: number) => void
  readonly #charge: Charge

  /** @param visit counts visits (units of work) against the limit of the render, before the work is done: one for each element, and for each 64 characters */
  constructor (visit: (visits: number) => void) {
    this.#visit = visit
    this.#charge = characters => visit(Math.ceil(characters / CHARACTERS_PER_VISIT))
  }

  /** The text of a value by `%v` without flags. `{{value}}` prints it. */
  text (value: GoValue): string {
    switch (typeof value) {
      case 'string': return value
      case 'number': return Number.isSafeInteger(value) ? intText(value) : floatText(value)
      case 'bigint': return this.#large(value)
      case 'boolean': return value ? 'true' : 'false'
      default: return this.argument(value, 'v', PLAIN)
    }
  }

  /** The text of a bigint. Writing digits takes more than linear time, so an integer that no double can represent costs extra. */
  #large (value: bigint): string {
    if (!Number.isFinite(Number(value))) this.#visit(HUGE_INTEGER_VISITS)
    return value.toString()
  }

  /** Formats one argument by a verb. Nil gives an empty text, except inside a list or a map. */
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
        // The cost of the whole text is counted, even if nearly all of the text is cut: before a cut all characters are counted, and a format or a
        // list can have the same text many times.
        if ((value as string).length > CHARACTERS_PER_VISIT) this.#charge((value as string).length)
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
    if (!Number.isFinite(Number(integerOf(value)))) this.#visit(HUGE_INTEGER_VISITS)
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
    this.#visit(VISITS_PER_MEMBER * memberNames(map).length)
    const keys = sortedKeys(map)
    const parts = keys.map(key => `${this.#value(key, verb, flags)}:${this.#value(map[key] as GoValue, verb, flags)}`)
    return flags.sharpV ? `map[string]interface {}{${parts.join(', ')}}` : `map[${parts.join(' ')}]`
  }

  #pointer (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    const kind = kindOf(value)
    return kind === 'slice' || kind === 'map' ? '0x0' : this.#badVerb(value, verb, flags)
  }

  /** The text for a verb that does not fit the value, `%!d(string=x)`. The value in it is printed with the same flags. */
  #badVerb (value: GoValue, verb: string, flags: Readonly<Flags>): string {
    return `%!${verb}(${typeName(value)}=${this.#value(value, 'v', flags)})`
  }
}
