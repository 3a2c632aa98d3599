import { measureArguments } from '../../functions/cost.ts'
import { FUNCTIONS } from '../../functions/functions.ts'
import { type Position } from '../../position.ts'
import { type LinkedTool } from '../../run/tool-call.ts'
import { PENDING, type Value } from '../../value.ts'
import { type Call, type Expression, type Hash } from '../syntax/ast.ts'
import { COMPARISONS, type Builtin } from './comparisons.ts'
import { syntaxError, type Compiled, type Environment, type Use } from './environment.ts'
import { failAt } from './failure.ts'
import { compileForm, isForm } from './forms.ts'
import { compileLiteral } from '../syntax/literals.ts'
import { positionOf } from '../syntax/parse.ts'
import { compilePath, findParam, simpleName } from './paths.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { traceMaking } from './tracing.ts'
import { UNKNOWN } from './whereabouts.ts'

const BLOCK_HELPERS = new Set(['if', 'unless', 'with', 'each'])

/** Compiles an expression in the place of an argument, where a name is always a path. */
export function compileExpression (expression: Expression, environment: Environment, use: Use): Compiled {
  environment.collection.nodes++
  switch (expression.type) {
    case 'PathExpression': return compilePath(expression, environment, use)
    case 'SubExpression': return compileCall(expression, environment, use)
    default: return compileLiteral(expression, environment)
  }
}

/** Compiles an argument that is consumed: absent is a miss, lazy is read. */
export function compileArgument (expression: Expression, environment: Environment): Pick<Compiled, 'evaluate' | 'where'> {
  const { evaluate, where } = compileExpression(expression, environment, 'used')
  const at = positionOf(expression.loc.start)
  const consume: Evaluate = scope => {
    const value = evaluate(scope)
    return typeof value !== 'object' || value === null ? value : scope.rendering.run.consume(value, at)
  }
  return { evaluate: consume, where }
}

/** Compiles `{{name a b=c}}`, `(name a b=c)`, `{{#name a b=c}}`: a builtin, or else a tool. */
export function compileCall (call: Call, environment: Environment, use: Use): Compiled {
  const compiled = compileByName(call, environment, use)
  return environment.explain ? { ...compiled, evaluate: traceMaking(compiled.evaluate) } : compiled
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

/** Whether a call of that name without arguments is a call: of a block helper, or of a builtin that needs none. */
export function isCallWithoutArguments (name: string): boolean {
  return name === 'log' || name === 'lookup' || BLOCK_HELPERS.has(name) ||
    (FUNCTIONS.get(name) ?? COMPARISONS.get(name))?.arity.least === 0
}

/** @throws TemplateSyntaxError unless the number of arguments fits and none is named. */
export function checkArity (name: string, call: Call, least: number, most: number): void {
  const [named] = call.hash?.pairs ?? []
  if (named !== undefined) throw syntaxError(`"${name}" takes no named arguments`, named)
  const count = call.params.length
  if (count >= least && count <= most) return
  const wanted = least === most ? `${least}` : most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`
  throw syntaxError(`"${name}" takes ${wanted} argument${wanted === '1' ? '' : 's'}, not ${count}`, call)
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

/** The name that a literal stands for where a name is expected: `{{"first name"}}`, `{{12}}`. */
export function literalName (literal: Exclude<Expression, { type: 'SubExpression' | 'PathExpression' }>): string {
  if (literal.type === 'NullLiteral') return 'null'
  return literal.type === 'UndefinedLiteral' ? 'undefined' : String(literal.original)
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

/** Calls the tool at a slot with arguments that are known. */
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

/** All arguments, each consumed; pending when one of them is, but only after all have been evaluated. */
function compileArguments (params: readonly Expression[], environment: Environment): (scope: Scope) => readonly Value[] | typeof PENDING {
  return evaluating(params.map(param => compileArgument(param, environment).evaluate))
}

function evaluating (evaluates: readonly Evaluate[]): (scope: Scope) => readonly Value[] | typeof PENDING {
  return scope => {
    const values: Value[] = []
    let pending = false
    for (const evaluate of evaluates) {
      const value = evaluate(scope)
      if (value === PENDING) pending = true
      values.push(value)
    }
    return pending ? PENDING : values
  }
}

/** Puts something around the evaluation of a named argument. */
export type WrapArgument = (argument: Pick<Compiled, 'evaluate' | 'where'>, name: string) => Evaluate

/**
 * Named arguments as an object without a prototype; pending as `compileArguments`. One that is `undefined` is not given.
 * @param hash evaluated in its order
 * @param order in which the members are assigned, which shows where the object is printed
 * @param wrap what is put around the evaluation of each argument
 */
export function compileHash (hash: Hash | undefined, environment: Environment, order: 'as written' | 'from the last', wrap: WrapArgument = ({ evaluate }) => evaluate): (scope: Scope) => Readonly<Record<string, Value>> | typeof PENDING {
  const pairs = (hash?.pairs ?? []).filter(pair => pair.value.type !== 'UndefinedLiteral')
  const evaluateAll = evaluating(pairs.map(({ key, value }) => wrap(compileArgument(value, environment), key)))
  const targets = pairs.map(({ key }, index) => ({ key, index }))
  if (order === 'from the last') targets.reverse()
  return scope => {
    const values = evaluateAll(scope)
    if (values === PENDING) return PENDING
    const members = Object.create(null) as Record<string, Value>
    for (const { key, index } of targets) members[key] = (values as readonly Value[])[index] as Value
    return members
  }
}
