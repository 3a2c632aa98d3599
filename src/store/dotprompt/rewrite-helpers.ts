import { type Call, type Program } from '../../template/handlebars/syntax/ast.ts'
import { helperOf } from './check-tree.ts'
import { type SourceLines } from './source-lines.ts'
import { walkTree } from './walk-tree.ts'

/** A part of the template, and the text that replaces it. */
interface Edit { readonly from: number, readonly to: number, readonly text: string }

/** A template after it was rewritten, with a function that finds offsets in the original. */
export interface Rewritten {
  readonly text: string
  /** Gives the offset in the original template for an offset in the rewritten one. */
  readonly offsetBefore: (offset: number) => number
}

/** Dotprompt's comparing blocks, each with the block that replaces it; the comparison becomes a call of the function `eq`. */
const COMPARING: ReadonlyMap<string, string> = new Map([['ifEquals', 'if'], ['unlessEquals', 'unless']])

/**
 * Rewrites Dotprompt's helpers into the forms that this service has: `{{#ifEquals a b}}` into `{{#if (eq a b)}}`, `{{json x indent=2}}` into `{{json
 * 2 x}}`, and `{{this}}` outside of all loops into `{{variables}}`, because here `this` has more members than the variables. Lines keep their
 * numbers.
 */
export function rewriteHelpers (source: string, program: Program, lines: SourceLines): Rewritten {
  const edits: Edit[] = []
  walkTree(program, {
    onCall (call) {
      const name = helperOf(call)
      const block = name === undefined ? undefined : COMPARING.get(name)
      if (name === 'json') edits.push(...indentOf(call, source, lines))
      if (block !== undefined && call.type === 'BlockStatement') edits.push(...comparisonOf(call, name as string, block, source, lines))
    },
    onExpression (expression, isAtRoot) {
      if (expression.type !== 'PathExpression' || !isAtRoot || expression.data || expression.depth > 0 || expression.parts.length > 0) return
      edits.push({ from: lines.offsetOf(expression.loc.start), to: lines.offsetOf(expression.loc.end), text: 'variables' })
    }
  })
  const ordered = edits.toSorted((one, other) => one.from - other.from)
  let text = ''
  let done = 0
  for (const { from, to, text: instead } of ordered) {
    text += source.slice(done, from) + instead
    done = to
  }
  return { text: text + source.slice(done), offsetBefore: offset => offsetBefore(ordered, offset) }
}

/**
 * The offset in the original template for an offset in the rewritten one. Every offset in an inserted text gives the beginning of the part that the
 * text replaces.
 */
function offsetBefore (edits: readonly Edit[], offset: number): number {
  let shift = 0
  for (const { from, to, text } of edits) {
    const begins = from + shift
    if (offset < begins) break
    if (offset < begins + text.length) return from
    shift += text.length - (to - from)
  }
  return offset - shift
}

function comparisonOf (call: Call, name: string, block: string, source: string, lines: SourceLines): Edit[] {
  const last = call.params.at(-1)
  if (last === undefined) return []
  const from = lines.offsetOf(call.path.loc.start)
  const behind = lines.offsetOf(last.loc.end)
  const end = lines.offsetOf(call.loc.end)
  // A block that begins with `else`, such as `{{else ifEquals a b}}`, has no closing tag of its own.
  const [closing] = new RegExp(`^\\{\\{~?/\\s*${name}\\s*~?\\}\\}$`).exec(source.slice(source.lastIndexOf('{{', end - 1), end)) ?? []
  return [
    { from, to: from + name.length, text: `${block} (eq` },
    { from: behind, to: behind, text: ')' },
    ...(closing === undefined ? [] : [{ from: end - closing.length, to: end, text: closing.replace(name, block) }])
  ]
}

function indentOf ({ path, hash }: Call, source: string, lines: SourceLines): Edit[] {
  const indent = hash?.pairs.find(({ key }) => key === 'indent')
  if (hash === undefined || indent === undefined || hash.pairs.length > 1) return []
  const behind = lines.offsetOf(path.loc.end)
  const value = source.slice(lines.offsetOf(indent.value.loc.start), lines.offsetOf(indent.value.loc.end))
  return [{ from: behind, to: behind, text: ` ${value}` }, { from: lines.offsetOf(hash.loc.start), to: lines.offsetOf(hash.loc.end), text: '' }]
}
