import type { FunctionContext } from '../template-function.ts'
import { NOTHING } from '../value.ts'
import { compareTexts, hasLoneSurrogate, joinBytes, toBytes } from './bytes.ts'
import { Flags, PLAIN } from './format-number.ts'
import { floatOf, type GoComplex, type GoValue, integerOf, type Kind, kindOf, typeName } from './go-value.ts'
import type { Printer } from './printer.ts'

/** Thrown when a built-in function refuses its arguments. The code that runs the call adds the function's name and the place to the message. */
export class CallError extends Error {}

/** The greatest width or precision that Go accepts. */
const MAX_SIZE = 1e6

/** Formats arguments as Go's Sprintf does. */
function printf (printer: Printer, format: string, args: readonly GoValue[]): string {
  return new Formatting(printer, format, args).run()
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9'

/** Goes once through a `printf` format, and makes its text. */
class Formatting {
  readonly #printer: Printer
  readonly #format: string
  readonly #args: readonly GoValue[]
  /** The index of the last `]` in the format. */
  readonly #lastBracket: number
  #at = 0
  #argument = 0
  /** Whether an explicit index such as `[3]` was used. Then unused arguments are not reported. */
  #isReordered = false
  #isIndexGood = true
  /** Whether an explicit index was read just before. */
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
    // %w is for errors, which templates do not have; it takes the same flags as %v.
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
    // A point at the very end of the format is read as the verb.
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

  /** Reads a decimal number; `undefined` when there is none. As in Go, a number that is too large ends the format. */
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

  /** Takes the next argument as a width or precision; `undefined` when it is missing, no integer, or too large. */
  #integerArgument (): number | undefined {
    if (this.#argument >= this.#args.length) return undefined
    const value = this.#args[this.#argument++] as GoValue
    const kind = kindOf(value)
    if (kind !== 'int' && kind !== 'uint8') return undefined
    const number = Number(integerOf(value))
    return Math.abs(number) > MAX_SIZE ? undefined : number
  }

  /** Reads an explicit index such as `[3]`, if there is one, and makes it the index of the next argument. */
  #index (): void {
    this.#isAfterIndex = false
    if (this.#format[this.#at] !== '[') return
    this.#isReordered = true
    // The closing bracket is searched for only where one follows. Otherwise a format with many opening brackets would be searched to its end for each of them.
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

/** The name under which a kind of values is compared: kinds with the same name can be compared with each other. `undefined` for nil, lists and maps. */
function basicKind (kind: Kind): string | undefined {
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
    // The comparison is loose, because an int can be a number on one side and a bigint on the other.
    // eslint-disable-next-line eqeqeq
    case 'int': return integerOf(left) == integerOf(right)
    case 'complex128': return (left as GoComplex).real === (right as GoComplex).real && (left as GoComplex).imaginary === (right as GoComplex).imaginary
    case undefined: return isEqualReference(context, left, right)
    default: return left === right
  }
}

/**
 * Whether two values are equal, when at least one of them is nil, a list or a map. Nil equals only nil.
 * @throws CallError for two lists or maps, which Go does not compare
 */
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

/** The order of two values: negative, zero or positive; `undefined` when one of them is a NaN or `NOTHING` (the result of a failed tool). */
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

/** The function `eq a b c`: whether a equals b or c. It stops at the first value that a equals. */
function equalsAny (context: BuiltinContext, args: readonly GoValue[]): boolean {
  const [first, ...others] = args as [GoValue, ...GoValue[]]
  if (others.length === 0) throw new CallError('missing argument for comparison')
  return others.some(other => isEqual(context, first, other))
}

function comparison (name: string, applyPair: (context: BuiltinContext, left: GoValue, right: GoValue) => boolean): Builtin {
  return { name, least: 2, most: 2, apply: (context, args) => applyPair(context, ...args as [GoValue, GoValue]), applyPair }
}

/** Whether the result of `order` means "less". Go defines `gt` as "not `le`" for floats, too, so `gt` is true when one of them is a NaN. */
const isLess = (order: number | undefined): boolean => order !== undefined && order < 0
const isLessOrEqual = (order: number | undefined): boolean => order !== undefined && order <= 0

/**
 * The comparison functions of Go's template language. When one of the values is `NOTHING` (the result of a failed tool), `lt`, `le`, `gt` and `ge`
 * are false, so that a failed tool does not end the render.
 */
const COMPARISONS: readonly Builtin[] = [
  { name: 'eq', least: 1, most: Infinity, apply: equalsAny, applyPair: isEqual },
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

/** Escapes a text for HTML as Go's HTMLEscapeString does. */
function escapeHtml (text: string): string {
  return text.replace(/[\0"'&<>]/g, character => HTML[character] as string)
}

/** Matches what Go escapes in a script's string literal: quotes, `\`, `<>&=`, control characters except DEL, and characters that cannot be printed. */
const UNSAFE_IN_SCRIPT = /[\\'"<>&=]|(?!\u007f)\p{Cc}|[^\p{ASCII}\p{L}\p{M}\p{N}\p{P}\p{S}]/gu

/** Escapes a text for a string literal in a script, as Go's JSEscapeString does. */
function escapeScript (text: string): string {
  return text.replace(UNSAFE_IN_SCRIPT, character => {
    if (Object.hasOwn(SCRIPT, character)) return SCRIPT[character] as string
    const code = character.codePointAt(0) as number
    // U+DC80 to U+DCFF stand for bytes that are part of no character. Go reads such a byte as U+FFFD, which can be printed, and so does not escape it.
    return code >= 0xdc80 && code <= 0xdcff ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
  })
}

/** Escapes a text for a query as Go's url.QueryEscape does. It also escapes what encodeURIComponent leaves, and writes a space as `+`. */
function escapeQuery (text: string): string {
  const encoded = hasLoneSurrogate(text) ? encodeBytes(text) : encodeURIComponent(text)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll('%20', '+')
}

function encodeBytes (text: string): string {
  return Array.from(toBytes(text), byte => byte < 0x80 ? encodeURIComponent(String.fromCharCode(byte)) : `%${byte.toString(16).toUpperCase()}`).join('')
}

/** The length of text that costs one visit (the unit in which the work of a render is counted), in characters. */
const CHARACTERS_PER_VISIT = 64

/**
 * The length of text whose escaping costs one visit (a unit of a render's work), in characters. It is shorter than `CHARACTERS_PER_VISIT`, because
 * escaping looks at each character.
 */
const ESCAPED_CHARACTERS_PER_VISIT = 4
/**
 * The cost of each verb (such as `%d`) or argument of a format, in visits (units of a render's work). Formatting a value is more work than a template's
 * node.
 */
const VISITS_PER_VERB = 24

/** The function `print`: Go's Sprint, which puts a space between two operands when neither is a string. */
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

/** The function `println`: Go's Sprintln, which puts spaces between all operands. */
function printLine (context: BuiltinContext, args: readonly GoValue[]): string {
  return `${joined(context, args.map(value => printed(context, value)).join(' '))}\n`
}

function printed (context: BuiltinContext, value: GoValue): string {
  return typeof value === 'string' ? value : context.printer.text(value)
}

/**
 * Repairs a text that was joined from several. Each of them can end or begin with a part of a character (single bytes); where such parts meet, they become
 * the character.
 */
function joined (context: BuiltinContext, text: string): string {
  context.charge(Math.ceil(text.length / CHARACTERS_PER_VISIT))
  return text.length < 2 ? text : joinBytes(text)
}

function escaper (name: string, escape: (text: string) => string): Builtin {
  return {
    name,
    least: 0,
    most: Infinity,
    apply: (context, args) => {
      const text = print(context, args.map(value => kindOf(value) === 'nil' && value !== NOTHING ? '' : value))
      context.charge(Math.ceil(text.length / ESCAPED_CHARACTERS_PER_VISIT))
      return escape(text)
    }
  }
}

/**
 * The builtins of Go's template language that need the values of all their arguments. `and`, `or`, `not`, `len`, `index`, `slice`, `printf` and
 * `call` have compilers of their own.
 */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ...COMPARISONS,
  { name: 'print', least: 0, most: Infinity, apply: print },
  { name: 'println', least: 0, most: Infinity, apply: printLine },
  escaper('html', escapeHtml),
  escaper('js', escapeScript),
  escaper('urlquery', escapeQuery)
].map(builtin => [builtin.name, builtin]))

/** The function `printf` of Go's template language. */
export function format (context: BuiltinContext, text: string, args: readonly GoValue[]): string {
  // A verb without an argument prints something as well: that its argument is missing.
  const verbs = text.split('%').length
  context.charge(Math.max(verbs, args.length) * VISITS_PER_VERB)
  return joined(context, printf(context.printer, text, args))
}

/** What the built-in functions of Go's template language can use of the run (one rendering of a template). */
export interface BuiltinContext extends FunctionContext {
  readonly printer: Printer
}

/** A builtin function of Go's template language. It gets the values of its arguments; a missing value comes as nil. */
export interface Builtin {
  readonly name: string
  readonly least: number
  readonly most: number
  /** Computes the result. @throws CallError with the text of Go's error */
  apply (context: BuiltinContext, args: readonly GoValue[]): GoValue
  /** Computes the result for exactly two arguments. It is faster than `apply`, because no list of arguments is made. */
  applyPair? (context: BuiltinContext, first: GoValue, second: GoValue): GoValue
}
