import { type GoValue } from '../value/go-value.ts'
import { kindOf, integerOf, typeName } from '../value/kind.ts'
import { Flags, PLAIN } from './flags.ts'
import { type Printer } from './printer.ts'

/** The greatest width or precision that Go accepts. */
const MAX_SIZE = 1e6

/** Formats arguments as Go's Sprintf does. */
export function printf (printer: Printer, format: string, args: readonly GoValue[]): string {
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
