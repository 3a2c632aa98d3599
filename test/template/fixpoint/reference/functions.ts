import { type Json } from '../../../../src/base/json.ts'
import { type Rules } from './rules.ts'
import { isList, NOTHING, type Plain, RenderFailure } from './values.ts'

type Apply = (args: readonly Plain[], rules: Rules) => Plain

/** The functions that take all their arguments in full. */
export const FUNCTIONS: ReadonlyMap<string, Apply> = new Map<string, Apply>([
  ['eq', ([left, ...others], rules) => others.some(other => rules.isEqual(left as Plain, other))],
  ['ne', ([left, right], rules) => !rules.isEqual(left as Plain, right as Plain)],
  ['lt', ([left, right], rules) => rules.isLess(left as Plain, right as Plain)],
  ['upper', ([text]) => textOf(text as Plain).toUpperCase()],
  ['join', ([separator, list]) => {
    const elements = listOf(list as Plain)
    return elements.map(element => jsonText(element)).join(textOf(separator as Plain))
  }],
  ['first', ([list]) => listOf(list as Plain)[0] ?? NOTHING],
  ['last', ([list]) => listOf(list as Plain).at(-1) ?? NOTHING],
  ['json', ([value]) => value === NOTHING ? 'null' : JSON.stringify(value)],
  // Go only.
  ['print', (args, rules) => args.reduce((text: string, value, index) => {
    const needsSpace = index > 0 && typeof value !== 'string' && typeof args[index - 1] !== 'string'
    return text + (needsSpace ? ' ' : '') + rules.print(value)
  }, '')],
  ['printf', ([format, ...args], rules) => {
    let index = 0
    return String(format).replace(/%v/g, () => rules.print(args[index++] as Plain))
  }]
])

function textOf (value: Plain): string {
  if (value === NOTHING || value === null) return ''
  if (typeof value === 'object') throw new RenderFailure('error', 'a text is wanted')
  return String(value)
}

function listOf (value: Plain): readonly Json[] {
  if (value === NOTHING || value === null) return []
  if (!isList(value)) throw new RenderFailure('error', 'a list is wanted')
  return value
}

function jsonText (value: Json): string {
  if (value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
