import type { FunctionContext } from '../template-function.ts'
import { NOTHING } from '../value.ts'
import { compareTexts, hasLoneSurrogate, joinBytes, toBytes } from './bytes.ts'
import { Flags, PLAIN } from './format-number.ts'
import { floatOf, type GoComplex, type GoValue, integerOf, type GoKind, kindOf, typeName } from './go-value.ts'
import type { Printer } from './printer.ts'

/** The caller adds the function's name and the place. */
export class CallError extends Error {}

const MAX_SIZE = 1e6

/** As Go's Sprintf. */
function printf (printer: Printer, format: string, args: readonly GoValue[]): string {
  return new Formatting(printer, format, args).run()
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9'

class Formatting {
  readonly #printer: Printer
  readonly #format: string
  readonly #args: readonly GoValue[]
  readonly #lastBracket: number
  #at = 0
  #argument = 0
  /** After an explicit index such as `[3]`, unused arguments are not reported. */
  #isReordered = false
  #isIndexGood = true
  #isAfterIndex = false

  constructor (printer: Printer, format: string, args: readonly GoValue[]) {
    this.#printer = printer
    this.#format = format
    this.#args = args
    this.#lastBracket = format.lastIndexOf(']')
  }

  run (): string {
    let text = ''
    for (;;) {
      const next = this.#format.indexOf('%', this.#at)
      if (next < 0) break
      text += this.#format.slice(this.#at, next)
      this.#at = next + 1
      text += this.#verb()
    }
    return text + this.#format.slice(this.#at) + this.#extra()
  }

  #verb (): string {
    const flags = this.#flags()
    this.#isIndexGood = true
    this.#isAfterIndex = false
    let problems = ''
    this.#index()
    problems += this.#width(flags)
    problems += this.#precision(flags)
    if (!this.#isAfterIndex) this.#index()
    if (this.#at >= this.#format.length) return `${problems}%!(NOVERB)`
    const verb = String.fromCodePoint(this.#format.codePointAt(this.#at) as number)
    this.#at += verb.length
    return problems + this.#operand(verb, flags)
  }

  #operand (verb: string, flags: Flags): string {
    if (verb === '%') return '%'
    if (!this.#isIndexGood) return `%!${verb}(BADINDEX)`
    if (this.#argument >= this.#args.length) return `%!${verb}(MISSING)`
    const value = this.#args[this.#argument++] as GoValue
    // %w is for errors, which templates do not have; its flags are those of %v.
    if (verb !== 'v' && verb !== 'w') return this.#printer.argument(value, verb, flags)
    flags.sharpV = flags.sharp
    flags.sharp = false
    flags.plusV = flags.plus
    flags.plus = false
    return this.#printer.argument(value, verb, flags)
  }

  #flags (): Flags {
    const flags = new Flags()
    for (; this.#at < this.#format.length; this.#at++) {
      switch (this.#format[this.#at]) {
        case '#': flags.sharp = true; break
        case '0': flags.zero = true; break
        case '+': flags.plus = true; break
        case '-': flags.minus = true; break
        case ' ': flags.space = true; break
        default: return flags
      }
    }
    return flags
  }

  #width (flags: Flags): string {
    if (this.#format[this.#at] !== '*') {
      flags.width = this.#number()
      if (this.#isAfterIndex && flags.width !== undefined) this.#isIndexGood = false
      return ''
    }
    this.#at++
    this.#isAfterIndex = false
    const width = this.#integerArgument()
    if (width === undefined) return '%!(BADWIDTH)'
    flags.width = Math.abs(width)
    if (width < 0) {
      flags.minus = true
      flags.zero = false
    }
    return ''
  }

  #precision (flags: Flags): string {
    // A point at the very end of the format is the verb.
    if (this.#format[this.#at] !== '.' || this.#at + 1 >= this.#format.length) return ''
    this.#at++
    if (this.#isAfterIndex) this.#isIndexGood = false
    this.#index()
    if (this.#format[this.#at] !== '*') {
      flags.precision = this.#number() ?? 0
      return ''
    }
    this.#at++
    this.#isAfterIndex = false
    const precision = this.#integerArgument()
    if (precision === undefined || precision < 0) return '%!(BADPREC)'
    flags.precision = precision
    return ''
  }

  /** As in Go, a number that is too large ends the format. */
  #number (): number | undefined {
    let value: number | undefined
    for (; isDigit(this.#format[this.#at] ?? ''); this.#at++) {
      if ((value ?? 0) > MAX_SIZE) {
        this.#at = this.#format.length
        return undefined
      }
      value = (value ?? 0) * 10 + Number(this.#format[this.#at])
    }
    return value
  }

  #integerArgument (): number | undefined {
    if (this.#argument >= this.#args.length) return undefined
    const value = this.#args[this.#argument++] as GoValue
    const kind = kindOf(value)
    if (kind !== 'int' && kind !== 'uint8') return undefined
    const number = Number(integerOf(value))
    return Math.abs(number) > MAX_SIZE ? undefined : number
  }

  #index (): void {
    this.#isAfterIndex = false
    if (this.#format[this.#at] !== '[') return
    this.#isReordered = true
    // Without the check, a format of opening brackets would be searched to its end for each.
    const end = this.#at < this.#lastBracket ? this.#format.indexOf(']', this.#at) : -1
    if (this.#format.length - this.#at < 3 || end < 0) {
      this.#at++
      this.#isIndexGood = false
      return
    }
    const digits = this.#format.slice(this.#at + 1, end)
    this.#at = end + 1
    const isNumber = /^\d+$/.test(digits) && Number(digits) <= 10 * MAX_SIZE + 9
    this.#isAfterIndex = isNumber
    if (isNumber && Number(digits) >= 1 && Number(digits) <= this.#args.length) this.#argument = Number(digits) - 1
    else this.#isIndexGood = false
  }

  #extra (): string {
    if (this.#isReordered || this.#argument >= this.#args.length) return ''
    const shown = this.#args.slice(this.#argument).map(value => {
      const text = this.#printer.argument(value, 'v', PLAIN)
      return kindOf(value) === 'nil' ? text : `${typeName(value)}=${text}`
    })
    return `%!(EXTRA ${shown.join(', ')})`
  }
}

const VERB_FLAGS = new Flags()

function basicKind (kind: GoKind): string | undefined {
  if (kind === 'uint8') return 'int'
  return kind === 'nil' || kind === 'slice' || kind === 'map' ? undefined : kind
}

function isEqual (context: BuiltinContext, left: GoValue, right: GoValue): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length !== right.length) return false
    if (left.length >= 64) context.charge(left.length >> 6)
    return left === right
  }
  const leftKind = kindOf(left)
  const rightKind = kindOf(right)
  const kind = basicKind(leftKind)
  if (kind !== basicKind(rightKind)) {
    if (leftKind !== 'nil' && rightKind !== 'nil') throw new CallError('incompatible types for comparison')
    return false
  }
  switch (kind) {
    case 'float64': return floatOf(left) === floatOf(right)
    // Loose, because an int can be a number on one side and a bigint on the other.
    // eslint-disable-next-line eqeqeq
    case 'int': return integerOf(left) == integerOf(right)
    case 'complex128': return (left as GoComplex).real === (right as GoComplex).real && (left as GoComplex).imaginary === (right as GoComplex).imaginary
    case undefined: return isEqualReference(context, left, right)
    default: return left === right
  }
}

/** Nil equals only nil. @throws CallError for two lists or maps, which Go does not compare */
function isEqualReference ({ printer }: BuiltinContext, left: GoValue, right: GoValue): boolean {
  const leftKind = kindOf(left)
  const rightKind = kindOf(right)
  if (leftKind === 'nil' || rightKind === 'nil') return leftKind === rightKind
  const shown = (value: GoValue): string => printer.text(value)
  if (leftKind !== rightKind) {
    throw new CallError(`non-comparable types ${printer.argument(left, 's', VERB_FLAGS)}: ${typeName(left)}, ${typeName(right)}: ${shown(right)}`)
  }
  throw new CallError(`non-comparable type ${printer.argument(right, 's', VERB_FLAGS)}: ${typeName(right)}`)
}

/** `undefined` when one is a NaN or `NOTHING`. */
function order (context: BuiltinContext, left: GoValue, right: GoValue): number | undefined {
  if (left === NOTHING || right === NOTHING) return undefined
  const kind = basicKind(kindOf(left))
  const other = basicKind(kindOf(right))
  if (kind === undefined || other === undefined) throw new CallError('invalid type for comparison')
  if (kind !== other) throw new CallError('incompatible types for comparison')
  switch (kind) {
    case 'int': return compareNumbers(integerOf(left), integerOf(right))
    case 'float64': return compareNumbers(floatOf(left), floatOf(right))
    case 'string':
      context.charge(Math.min((left as string).length, (right as string).length) >> 6)
      return compareTexts(left as string, right as string)
    default: throw new CallError('invalid type for comparison')
  }
}

function compareNumbers (left: number | bigint, right: number | bigint): number | undefined {
  if (left < right) return -1
  if (left > right) return 1
  // eslint-disable-next-line eqeqeq -- a number may equal a bigint
  return left == right ? 0 : undefined
}

function equalsAny (context: BuiltinContext, args: readonly GoValue[]): boolean {
  const [first, ...others] = args as [GoValue, ...GoValue[]]
  if (others.length === 0) throw new CallError('missing argument for comparison')
  return others.some(other => isEqual(context, first, other))
}

function comparison (name: string, compare: (context: BuiltinContext, left: GoValue, right: GoValue) => boolean): Builtin {
  return { name, least: 2, most: 2, apply: (context, args) => compare(context, ...args as [GoValue, GoValue]) }
}

/** Go defines `gt` as "not `le`" for floats too, so `gt` is true for a NaN. */
const isLess = (order: number | undefined): boolean => order !== undefined && order < 0
const isLessOrEqual = (order: number | undefined): boolean => order !== undefined && order <= 0

/** With `NOTHING`, `lt`, `le`, `gt` and `ge` are false, so that a failed tool does not end the render. */
const COMPARISONS: readonly Builtin[] = [
  { name: 'eq', least: 1, most: Infinity, apply: equalsAny },
  comparison('ne', (context, left, right) => !isEqual(context, left, right)),
  comparison('lt', (context, left, right) => isLess(order(context, left, right))),
  comparison('le', (context, left, right) => isLessOrEqual(order(context, left, right))),
  comparison('gt', (context, left, right) => isBeyond(order(context, left, right), isLessOrEqual, left, right)),
  comparison('ge', (context, left, right) => isBeyond(order(context, left, right), isLess, left, right))
]

function isBeyond (result: number | undefined, opposite: (order: number | undefined) => boolean, left: GoValue, right: GoValue): boolean {
  return left !== NOTHING && right !== NOTHING && !opposite(result)
}

const HTML: Readonly<Record<string, string>> = { '\0': '\ufffd', '"': '&#34;', "'": '&#39;', '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const SCRIPT: Readonly<Record<string, string>> = {
  '\\': '\\\\', "'": "\\'", '"': '\\"', '<': '\\u003C', '>': '\\u003E', '&': '\\u0026', '=': '\\u003D'
}

/** As Go's HTMLEscapeString. */
function escapeHtml (text: string): string {
  return text.replace(/[\0"'&<>]/g, character => HTML[character] as string)
}

/** What Go's JSEscapeString escapes; DEL is no control character there. */
const UNSAFE_IN_SCRIPT = /[\\'"<>&=]|(?!\u007f)\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu

/** As Go's JSEscapeString. */
function escapeScript (text: string): string {
  return text.replace(UNSAFE_IN_SCRIPT, character => {
    if (Object.hasOwn(SCRIPT, character)) return SCRIPT[character] as string
    const code = character.codePointAt(0) as number
    // U+DC80 to U+DCFF are bytes of no character. Go reads them as U+FFFD, which is printable and so not escaped.
    return code >= 0xdc80 && code <= 0xdcff ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** Go's url.QueryEscape also escapes what encodeURIComponent leaves, and writes a space as `+`. */
function escapeQuery (text: string): string {
  const encoded = hasLoneSurrogate(text) ? encodeBytes(text) : encodeURIComponent(text)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+')
}

function encodeBytes (text: string): string {
  return Array.from(toBytes(text), byte => byte < 0x80 ? encodeURIComponent(String.fromCharCode(byte)) : `%${byte.toString(16).toUpperCase()}`).join('')
}

/** In characters. */
const CHARACTERS_PER_WORK_UNIT = 64

/** Shorter than CHARACTERS_PER_VISIT, because escaping looks at each character. */
const ESCAPED_CHARACTERS_PER_WORK_UNIT = 4
/** In visits: formatting a value is more work than a template's node. */
const WORK_PER_VERB = 24

/** Go's Sprint puts a space between two operands when neither is a string. */
function print (context: BuiltinContext, args: readonly GoValue[]): string {
  let text = ''
  let wasText = true
  for (const value of args) {
    const isText = typeof value === 'string'
    if (!isText && !wasText) text += ' '
    text += printed(context, value)
    wasText = isText
  }
  return joined(context, text)
}

function printLine (context: BuiltinContext, args: readonly GoValue[]): string {
  return `${joined(context, args.map(value => printed(context, value)).join(' '))}\n`
}

function printed (context: BuiltinContext, value: GoValue): string {
  return typeof value === 'string' ? value : context.printer.text(value)
}

/** Joined texts may end or begin with single bytes: where such parts meet, they become the character. */
function joined (context: BuiltinContext, text: string): string {
  context.charge(Math.ceil(text.length / CHARACTERS_PER_WORK_UNIT))
  return text.length < 2 ? text : joinBytes(text)
}

function escaper (name: string, escape: (text: string) => string): Builtin {
  return {
    name,
    least: 0,
    most: Infinity,
    apply: (context, args) => {
      const text = print(context, args.map(value => kindOf(value) === 'nil' && value !== NOTHING ? '' : value))
      context.charge(Math.ceil(text.length / ESCAPED_CHARACTERS_PER_WORK_UNIT))
      return escape(text)
    }
  }
}

/** The builtins that need all their arguments; the others have compilers of their own. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ...COMPARISONS,
  { name: 'print', least: 0, most: Infinity, apply: print },
  { name: 'println', least: 0, most: Infinity, apply: printLine },
  escaper('html', escapeHtml),
  escaper('js', escapeScript),
  escaper('urlquery', escapeQuery)
].map(builtin => [builtin.name, builtin]))

export function format (context: BuiltinContext, text: string, args: readonly GoValue[]): string {
  // A verb without an argument prints that it is missing.
  const verbs = text.split('%').length
  context.charge(Math.max(verbs, args.length) * WORK_PER_VERB)
  return joined(context, printf(context.printer, text, args))
}

/** What the built-in functions of Go's template language can use of the run (one rendering of a template). */
export interface BuiltinContext extends FunctionContext {
  readonly printer: Printer
}

/** Gets values; a missing one comes as nil. */
export interface Builtin {
  readonly name: string
  readonly least: number
  readonly most: number
  /** @throws CallError with the text of Go's error */
  apply (context: BuiltinContext, args: readonly GoValue[]): GoValue
}
