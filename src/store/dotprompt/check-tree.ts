import { type Call, type Program } from '../../template/handlebars/syntax/ast.ts'
import { type TextPlace } from '../../base/json.ts'
import { DotpromptError } from './dotprompt-error.ts'
import { type SourceLines } from './source-lines.ts'
import { walkTree } from './walk-tree.ts'

/**
 * The helpers of Dotprompt that cut a template into messages and parts. They are refused inside blocks, since the cuts must be known before a render.
 */
export const MARKERS: ReadonlySet<string> = new Set(['role', 'history', 'media'])

/** The names that Handlebars itself defines after an `@`. */
const DATA: ReadonlySet<string> = new Set(['index', 'key', 'first', 'last', 'root', 'partial-block', 'level'])

/**
 * Refuses forms of Dotprompt (a file format for prompts) that this service does not have.
 * @param at gives the place in the file for an offset in the template
 * @throws DotpromptError
 */
export function checkTree (program: Program, lines: SourceLines, at: (offset: number) => TextPlace): void {
  const placeOf = ({ loc }: Pick<Call, 'loc'>) => at(lines.offsetOf(loc.start))
  walkTree(program, {
    onCall (call, depth) {
      const name = helperOf(call)
      if (name === undefined) return
      if (name === 'section') throw new DotpromptError('has a {{section}}, which messages do not have here', placeOf(call), { hint: 'write a heading' })
      if (!MARKERS.has(name) || (depth === 0 && call.type === 'MustacheStatement')) return
      const reason = `has {{${name}}} inside a block, where no ${name === 'media' ? 'part of a message' : 'message'} can begin`
      throw new DotpromptError(reason, placeOf(call), { code: 'ROLE_NESTED', hint: `write {{${name}}} outside of all blocks` })
    },
    onExpression (expression) {
      if (expression.type !== 'PathExpression' || !expression.data) return
      const [first = ''] = expression.parts
      if (DATA.has(first)) return
      throw new DotpromptError(`reads @${first}, which is no variable here`, placeOf(expression), { hint: 'write caller, which says who asks, or a variable' })
    }
  })
}

/** The name of the helper that a call in a template names; `undefined` for a path such as `user.name`. */
export function helperOf ({ path }: Call): string | undefined {
  if (path.type !== 'PathExpression' || path.data || path.depth > 0) return undefined
  const [name, ...more] = path.parts
  return more.length === 0 && path.original === name ? name : undefined
}
