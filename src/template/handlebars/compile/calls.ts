import { measureArguments } from '../../functions/cost.ts'
import { FUNCTIONS } from '../../functions/functions.ts'
import { type Position } from '../../position.ts'
import { type LinkedTool } from '../../run/tool-call.ts'
import { PENDING, type Value } from '../../value.ts'
import { type Call, type Expression } from '../syntax/ast.ts'
import { checkArity, compileArguments, compileHash, literalName } from './arguments.ts'
import { COMPARISONS, type Builtin } from './comparisons.ts'
import { type Compiled } from './compiled.ts'
import { syntaxError, type Environment, type Use } from './environment.ts'
import { failAt } from './failure.ts'
import { compileForm, isForm } from './forms.ts'
import { compileLiteral } from '../syntax/literals.ts'
import { positionOf } from '../syntax/parse.ts'
import { compilePath, findParam, simpleName } from './paths.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { UNKNOWN } from './static-path.ts'

const BLOCK_HELPERS = new Set(['if', 'unless', 'with', 'each'])

/** Compiles an expression that is an argument. In an argument a plain name is always a path, and never a call. */
export function compileExpression (expression: Expression, environment: Environment, use: Use): Compiled {
  environment.collection.nodes++
  switch (expression.type) {
    case 'PathExpression': return compilePath(expression, environment, use)
    case 'SubExpression': return compileCall(expression, environment, use)
    default: return compileLiteral(expression, environment)
  }
}

/** Compiles a call, `{{name a b=c}}`, `(name a b=c)` or `{{#name a b=c}}`: of a built-in function, otherwise of a tool. */
export function compileCall (call: Call, environment: Environment, use: Use): Compiled {
  const compiled = compileByName(call, environment, use)
  return { ...compiled, evaluate: environment.tracing.making(compiled.evaluate) }
}

function compileByName (call: Call, environment: Environment, use: Use): Compiled {
  const name = calledName(call)
  if (BLOCK_HELPERS.has(name)) throw syntaxError(`"${name}" is a block: {{#${name} …}}…{{/${name}}}`, call)
  if (name === 'log') throw syntaxError('{{log}} is not available: a template writes to its output only', call)
  if (isForm(name)) return compileForm(name, call, environment, use)
  const builtin = FUNCTIONS.get(name) ?? COMPARISONS.get(name)
  if (builtin !== undefined) return { evaluate: compileBuiltin(builtin, call, environment), where: UNKNOWN }
  const isValue = environment.collection.declared.has(name) || findParam(name, environment.params) !== undefined
  if (isValue) throw syntaxError(`"${name}" is a value and takes no arguments`, call)
  return compileTool(name, call, environment)
}

/** Whether a name without arguments is a call: that of a block helper, or of a function that needs no arguments. */
export function isCallWithoutArguments (name: string): boolean {
  return name === 'log' || name === 'lookup' || BLOCK_HELPERS.has(name) ||
    (FUNCTIONS.get(name) ?? COMPARISONS.get(name))?.arity.least === 0
}

function calledName (call: Call): string {
  const { path } = call
  if (path.type === 'SubExpression') throw syntaxError('a function is called by its name', call)
  if (path.type !== 'PathExpression') return literalName(path)
  const name = simpleName(path)
  if (name === undefined) {
    const hint = path.parts.length > 1 ? `; a tool's function is called ${path.parts.join('_')}` : ''
    throw syntaxError(`"${path.original}" is a path and cannot be called${hint}`, call)
  }
  return name
}

function compileBuiltin (builtin: Builtin, call: Call, environment: Environment): Evaluate {
  checkArity(builtin.name, call, builtin.arity.least, builtin.arity.most)
  const evaluateAll = compileArguments(call.params, environment)
  const at = positionOf(call.loc.start)
  return scope => {
    const values = evaluateAll(scope)
    if (values === PENDING) return PENDING
    try {
      return builtin.apply(values as readonly Value[], scope.rendering.run)
    } catch (error) {
      throw failAt(error, at, builtin.name)
    }
  }
}

function compileTool (name: string, call: Call, environment: Environment): Compiled {
  const at = positionOf(call.loc.start)
  const slot = environment.collection.refer('function', name, call.params, call.hash, at)
  const positional = compileArguments(call.params, environment)
  const named = compileHash(call.hash, environment, 'as written')
  const evaluate: Evaluate = scope => {
    const values = positional(scope)
    const members = named(scope)
    if (values === PENDING || members === PENDING) return PENDING
    return callTool(scope, slot, values as readonly Value[], members as Readonly<Record<string, Value>>, at)
  }
  return { evaluate, where: UNKNOWN, toolSlot: slot }
}

/** Calls a tool with arguments whose values are known. @param slot the index of the tool in `Rendering.links` */
export function callTool (scope: Scope, slot: number, positional: readonly Value[], named: Readonly<Record<string, Value>>, at: Position): Value {
  const { run, links } = scope.rendering
  try {
    measureArguments(positional, run)
    measureArguments(Object.values(named), run)
  } catch (error) {
    throw failAt(error, at)
  }
  return run.call(links[slot] as LinkedTool, positional, named, at)
}
