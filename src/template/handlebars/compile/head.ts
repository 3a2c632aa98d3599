import { type Call, type Literal, type Path } from '../syntax/ast.ts'
import { positionOf } from '../syntax/parse.ts'
import { literalName } from './arguments.ts'
import { callTool, compileCall, isCallWithoutArguments } from './calls.ts'
import { type Compiled } from './compiled.ts'
import { type Environment, type Use } from './environment.ts'
import { compilePath, findParam, simpleName } from './paths.ts'
import { unlessTool } from './explain/trace-paths.ts'

/** Compiles `{{name}}` or `{{name …}}`. A name without arguments is a tool if there is one, otherwise a path. */
export function compileHead (head: Call, environment: Environment, use: Use): Compiled {
  if (head.params.length > 0 || head.hash !== undefined) return compileCall(head, environment, use)
  if (head.path.type === 'SubExpression') return environment.collection.compilers.expression(head.path, environment, use)
  const path = head.path.type === 'PathExpression' ? head.path : literalPath(head.path)
  const name = simpleName(path)
  if (name === undefined || findParam(name, environment.params) !== undefined) return compilePath(path, environment, use)
  if (isCallWithoutArguments(name)) return compileCall(head, environment, use)
  const compiled = compilePath(path, environment, use)
  if (environment.collection.declared.has(name)) return compiled

  const at = positionOf(head.loc.start)
  const slot = environment.collection.refer('maybe-function', name, [], undefined, at)
  const { evaluate, traced } = compiled
  return {
    where: compiled.where,
    toolSlot: slot,
    evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : callTool(scope, slot, [], {}, at),
    ...(traced === undefined ? {} : { traced: unlessTool(traced, slot) })
  }
}

function literalPath (literal: Literal): Path {
  const name = literalName(literal)
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc: literal.loc }
}
