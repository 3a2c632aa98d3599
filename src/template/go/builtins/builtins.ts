import { NOTHING } from '../../value.ts'
import { printf } from '../fmt/printf.ts'
import { joinBytes } from '../value/bytes.ts'
import { type GoValue } from '../value/go-value.ts'
import { kindOf } from '../value/kind.ts'
import { type Builtin, type BuiltinContext } from './builtin.ts'
import { COMPARISONS } from './comparison.ts'
import { escapeHtml, escapeQuery, escapeScript } from './escaping.ts'

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
