import { NOTHING } from '../../value.ts'
import { printf } from '../fmt/printf.ts'
import { joinBytes } from '../value/bytes.ts'
import { type GoValue } from '../value/go-value.ts'
import { kindOf } from '../value/kind.ts'
import { type Builtin, type BuiltinContext } from './builtin.ts'
import { COMPARISONS } from './comparison.ts'
import { escapeHtml, escapeQuery, escapeScript } from './escaping.ts'

/** A visit pays for so many characters. */
const CHARACTERS_PER_VISIT = 64

/** Escaping looks at every single one. */
const ESCAPED_CHARACTERS_PER_VISIT = 4
/** What each verb or argument of a format costs: formatting a value does more than a node of a template. */
const VISITS_PER_VERB = 24

/** Go's Sprint: a space between operands where neither is a string. */
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

/** Go's Sprintln: spaces between all operands. */
function printLine (context: BuiltinContext, args: readonly GoValue[]): string {
  return `${joined(context, args.map(value => printed(context, value)).join(' '))}\n`
}

function printed (context: BuiltinContext, value: GoValue): string {
  return typeof value === 'string' ? value : context.printer.text(value)
}

/** A text made of several; bytes side by side may have become characters. */
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
 * Go's builtins that take all their arguments at once; `and`, `or`, `not`, `len`, `index`, `slice`, `printf` and `call`
 * are compiled apart.
 */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ...COMPARISONS,
  { name: 'print', least: 0, most: Infinity, apply: print },
  { name: 'println', least: 0, most: Infinity, apply: printLine },
  escaper('html', escapeHtml),
  escaper('js', escapeScript),
  escaper('urlquery', escapeQuery)
].map(builtin => [builtin.name, builtin]))

/** Go's `printf`. */
export function format (context: BuiltinContext, text: string, args: readonly GoValue[]): string {
  // Verbs without an argument print, too: that it is missing.
  const verbs = text.split('%').length
  context.charge(Math.max(verbs, args.length) * VISITS_PER_VERB)
  return joined(context, printf(context.printer, text, args))
}
