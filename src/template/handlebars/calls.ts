import { FUNCTIONS } from '../functions.ts'
import { FALLBACK, made } from '../provenance.ts'
import type { Position } from '../tags.ts'
import { chargeText, type FunctionContext, FunctionError, kindOf, type LinkedTool, measureArguments, type TemplateFunction } from '../template-function.ts'
import { Absent, isObject, LazyNode, memberNames, NOTHING, PENDING, type Value } from '../value.ts'
import { type CallNode, type Expression, type Hash, type Literal, type PathNode, positionOf } from './parse.ts'
import { type CompileContext, failAt, syntaxError, type Use } from './environment.ts'
import { extendPath, memberAt, oneOf, solePath, type StaticPath, UNKNOWN } from './static-path.ts'
import { type Compiled, type Evaluator, isTrue, memberOf, missing, observing, type Scope } from './scope.ts'
import { compilePath, findParam, simpleName } from './paths.ts'

type CompileForm = (call: CallNode, environment: CompileContext, use: Use) => Compiled

const MANY = Number.MAX_SAFE_INTEGER

/** The value first; the fallback only for absent, null, `NOTHING` or the empty text. */
const compileDefault: CompileForm = (call, environment, use) => {
  checkArity('default', call, 2, 2)
  const [fallback, value] = call.params as [Expression, Expression]
  const { evaluate: evaluateValue, where } = environment.collection.compilers.expression(value, environment, 'tested')
  const compiled = environment.collection.compilers.expression(fallback, environment, useOfOneOfSeveral(use))
  return valueAt(oneOfSeveral(use, where, compiled.where), scope => {
    const first = evaluateValue(scope)
    const isThere = first !== '' && first !== null && first !== NOTHING && !(first instanceof Absent)
    if (isThere) return first
    scope.rendering.run.trace?.read(FALLBACK)
    return compiled.evaluate(scope)
  })
}

const compileNot: CompileForm = (call, environment) => {
  checkArity('not', call, 1, 1)
  const { evaluate } = environment.collection.compilers.expression(call.params[0] as Expression, environment, 'tested')
  return valueAt(UNKNOWN, scope => {
    const truth = isTrue(evaluate(scope))
    return truth === PENDING ? PENDING : truth === false
  })
}

const compileJunction = (name: string, decisive: boolean): CompileForm => (call, environment, use) => {
  checkArity(name, call, 1, MANY)
  const last = call.params.length - 1
  const operands = call.params.map((param, index) =>
    environment.collection.compilers.expression(param, environment, decisive && index < last ? 'tested' : useOfOneOfSeveral(use)))
  const evaluates = operands.map(({ evaluate }) => evaluate)
  // Objects are true, so the result of `and` is an object only if it is the last operand.
  const holders = decisive ? operands : operands.slice(last)
  return valueAt(oneOfSeveral(use, ...holders.map(({ where }) => where)), scope => {
    for (let index = 0; index < last; index++) {
      const value = (evaluates[index] as Evaluator)(scope)
      const truth = isTrue(value)
      if (truth === PENDING || truth === decisive) return value
    }
    return (evaluates[last] as Evaluator)(scope)
  })
}

/** Each key is one segment, even if it contains dots. */
const compileLookup = (name: string, most: number): CompileForm => (call, environment, use) => {
  checkArity(name, call, name === 'lookup' ? 2 : 1, most)
  const [holder, ...keys] = call.params as [Expression, ...Expression[]]
  const head = environment.collection.compilers.expression(holder, environment, keys.length > 0 ? 'descended' : use)
  const where = memberAt(head.where, keys.map(literalKey))
  if (keys.length > 0) environment.collection.need(where, use, positionOf(holder.loc.start))
  let label = solePath(head.where) ?? environment.collection.source(holder.loc)
  const steps = keys.map(key => {
    label = extendPath(label, literalKey(key))
    return { key: compileArgument(key, environment).evaluate, label }
  })
  return {
    where,
    evaluate: scope => {
      let value = head.evaluate(scope)
      for (const step of steps) {
        const key = step.key(scope)
        value = key === PENDING ? PENDING : elementOf(value, key, step.label)
      }
      return value
    }
  }
}

/** Texts count UTF-16 units. Of a `LazyNode` only the names are read. */
const compileLength: CompileForm = (call, environment) => {
  checkArity('len', call, 1, 1)
  const [argument] = call.params as [Expression]
  const { evaluate } = environment.collection.compilers.expression(argument, environment, 'used')
  const at = positionOf(argument.loc.start)
  return valueAt(UNKNOWN, scope => {
    const value = evaluate(scope)
    const { run } = scope.rendering
    const known = value instanceof LazyNode ? value.keys() : run.consume(value, at)
    if (known === PENDING) return PENDING
    if (typeof known === 'string' || Array.isArray(known)) return known.length
    if (known === null || known === NOTHING) return 0
    if (!isObject(known as Value)) throw failAt(new FunctionError(`${kindOf(known as Value)} has no length`), at, 'len')
    return memberNames(known as object).length
  })
}

const FORMS: ReadonlyMap<string, CompileForm> = new Map([
  ['default', compileDefault],
  ['not', compileNot],
  ['and', compileJunction('and', false)],
  ['or', compileJunction('or', true)],
  ['lookup', compileLookup('lookup', 2)],
  ['index', compileLookup('index', MANY)],
  ['len', compileLength]
])

/** When only a member of the result is read, the operand it is in is unknown: all are noted as tested. */
function useOfOneOfSeveral (use: Use): Use {
  return use === 'descended' ? 'tested' : use
}

function oneOfSeveral (use: Use, ...values: readonly StaticPath[]): StaticPath {
  return use === 'descended' ? UNKNOWN : oneOf(...values)
}

function valueAt (where: StaticPath, evaluate: Evaluator): Compiled {
  return { evaluate, where }
}

function literalKey (key: Expression): string {
  return key.type === 'StringLiteral' || key.type === 'NumberLiteral' ? String(key.value) : '*'
}

/** As in the package handlebars, a falsy text, number or boolean is itself the result. */
function elementOf (holder: Value, key: Value, label: string): Value {
  if (holder === PENDING || holder === NOTHING) return holder
  if (typeof holder !== 'object' || holder === null) return holder ? missing(holder, false, label) : holder
  if (key === null || typeof key === 'object') return missing(holder, false, label)
  const member = memberOf(holder, String(key))
  return member === undefined ? missing(holder, false, label) : member
}

type ValueFunction = Pick<TemplateFunction, 'name' | 'arity' | 'apply'>

/** Different types are unequal, which is an error in Go; null equals `NOTHING`; integers of any size compare exactly. */
const COMPARISONS: ReadonlyMap<string, ValueFunction> = new Map([
  compare('eq', Number.MAX_SAFE_INTEGER, ([value, ...others], context) => others.some(other => isEqual(value as Value, other, context))),
  compare('ne', 2, ([one, other], context) => !isEqual(one as Value, other as Value, context)),
  compare('lt', 2, ([one, other], context) => isOrdered('<', one, other, context)),
  compare('le', 2, ([one, other], context) => isOrdered('<=', one, other, context)),
  compare('gt', 2, ([one, other], context) => isOrdered('<', other, one, context)),
  compare('ge', 2, ([one, other], context) => isOrdered('<=', other, one, context))
])

function compare (name: string, most: number, apply: TemplateFunction['apply']): [string, ValueFunction] {
  return [name, { name, arity: { least: 2, most }, apply }]
}

function isEqual (one: Value, other: Value, context: FunctionContext): boolean {
  const left = scalar(one, context)
  const right = scalar(other, context)
  // Only integers can equal across types: `1n == 1`, as Go's `eq` would say.
  // eslint-disable-next-line eqeqeq
  return isNumber(left) && isNumber(right) ? left == right : left === right
}

function isOrdered (order: '<' | '<=', one: Value | undefined, other: Value | undefined, context: FunctionContext): boolean {
  const left = scalar(one as Value, context)
  const right = scalar(other as Value, context)
  if (left === null || right === null) return false
  const comparable = isNumber(left) ? isNumber(right) : typeof left === 'string' && typeof right === 'string'
  if (!comparable) throw new FunctionError(`${kindOf(left)} and ${kindOf(right)} have no order`)
  return order === '<' ? left < right : left <= right
}

function isNumber (value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function scalar (value: Value, context: FunctionContext): string | number | bigint | boolean | null {
  if (value === null || value === NOTHING) return null
  if (typeof value === 'string') chargeText(value.length, context)
  if (typeof value === 'object') throw new FunctionError(`only texts, numbers and booleans can be compared, not ${kindOf(value)}`)
  return value
}

const BLOCK_HELPERS = new Set(['if', 'unless', 'with', 'each'])

/** In an argument a plain name is always a path, never a call. */
export function compileExpression (expression: Expression, environment: CompileContext, use: Use): Compiled {
  environment.collection.nodes++
  switch (expression.type) {
    case 'PathExpression': return compilePath(expression, environment, use)
    case 'SubExpression': return compileCall(expression, environment, use)
    default: return compileLiteral(expression, environment)
  }
}

function compileCall (call: CallNode, environment: CompileContext, use: Use): Compiled {
  const compiled = compileByName(call, environment, use)
  // What a call gives is made of all that it read.
  return { ...compiled, evaluate: observing(compiled.evaluate, environment, (from, trace) => trace.read(made([from]))) }
}

function compileByName (call: CallNode, environment: CompileContext, use: Use): Compiled {
  const name = calledName(call)
  if (BLOCK_HELPERS.has(name)) throw syntaxError(`"${name}" is a block: {{#${name} …}}…{{/${name}}}`, call)
  if (name === 'log') throw syntaxError('{{log}} is not available: a template writes to its output only', call)
  const form = FORMS.get(name)
  if (form !== undefined) return form(call, environment, use)
  const builtin = FUNCTIONS.get(name) ?? COMPARISONS.get(name)
  if (builtin !== undefined) return { evaluate: compileBuiltin(builtin, call, environment), where: UNKNOWN }
  const isValue = environment.collection.declared.has(name) || findParam(name, environment.params) !== undefined
  if (isValue) throw syntaxError(`"${name}" is a value and takes no arguments`, call)
  return compileTool(name, call, environment)
}

function isCallWithoutArguments (name: string): boolean {
  return name === 'log' || name === 'lookup' || BLOCK_HELPERS.has(name) ||
    (FUNCTIONS.get(name) ?? COMPARISONS.get(name))?.arity.least === 0
}

function calledName (call: CallNode): string {
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

function compileBuiltin (builtin: ValueFunction, call: CallNode, environment: CompileContext): Evaluator {
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

function compileTool (name: string, call: CallNode, environment: CompileContext): Compiled {
  const at = positionOf(call.loc.start)
  const slot = environment.collection.refer('function', name, call.params, call.hash, at)
  const positional = compileArguments(call.params, environment)
  const named = compileHash(call.hash, environment, 'as written')
  const evaluate: Evaluator = scope => {
    const values = positional(scope)
    const members = named(scope)
    if (values === PENDING || members === PENDING) return PENDING
    return callTool(scope, slot, values as readonly Value[], members as Readonly<Record<string, Value>>, at)
  }
  return { evaluate, where: UNKNOWN, toolSlot: slot }
}

function callTool (scope: Scope, slot: number, positional: readonly Value[], named: Readonly<Record<string, Value>>, at: Position): Value {
  const { run, links } = scope.rendering
  try {
    measureArguments(positional, run)
    measureArguments(Object.values(named), run)
  } catch (error) {
    throw failAt(error, at)
  }
  return run.call(links[slot] as LinkedTool, positional, named, at)
}

/** `undefined` becomes `NOTHING`; an integer keeps digits that a double cannot represent. */
function compileLiteral (literal: Literal, environment: CompileContext): Compiled {
  const value = literalValue(literal, environment)
  return { evaluate: () => value, where: UNKNOWN }
}

function literalValue (literal: Literal, environment: CompileContext): Value {
  if (literal.type === 'UndefinedLiteral') return NOTHING
  if (literal.type === 'NullLiteral') return null
  if (literal.type !== 'NumberLiteral' || Number.isSafeInteger(literal.value)) return literal.value
  const digits = environment.collection.source(literal.loc)
  return /^-?\d+$/.test(digits) ? BigInt(digits) : literal.value
}

/** @throws TemplateSyntaxError unless their number fits and none is named */
export function checkArity (name: string, call: CallNode, least: number, most: number): void {
  const [named] = call.hash?.pairs ?? []
  if (named !== undefined) throw syntaxError(`"${name}" takes no named arguments`, named)
  const count = call.params.length
  if (count >= least && count <= most) return
  const wanted = least === most ? `${least}` : most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`
  throw syntaxError(`"${name}" takes ${wanted} argument${wanted === '1' ? '' : 's'}, not ${count}`, call)
}

export function literalName (literal: Exclude<Expression, { type: 'SubExpression' | 'PathExpression' }>): string {
  if (literal.type === 'NullLiteral') return 'null'
  return literal.type === 'UndefinedLiteral' ? 'undefined' : String(literal.original)
}

/** An absent value is noted as missing, a `LazyNode` is read. */
function compileArgument (expression: Expression, environment: CompileContext): Pick<Compiled, 'evaluate' | 'where'> {
  const { evaluate, where } = environment.collection.compilers.expression(expression, environment, 'used')
  const at = positionOf(expression.loc.start)
  const consume: Evaluator = scope => {
    const value = evaluate(scope)
    return typeof value !== 'object' || value === null ? value : scope.rendering.run.consume(value, at)
  }
  return { evaluate: consume, where }
}

/** Pending only after all are evaluated, so that all missing values are found at once. */
function compileArguments (params: readonly Expression[], environment: CompileContext): (scope: Scope) => readonly Value[] | typeof PENDING {
  return evaluating(params.map(param => compileArgument(param, environment).evaluate))
}

function evaluating (evaluates: readonly Evaluator[]): (scope: Scope) => readonly Value[] | typeof PENDING {
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

/** `undefined` counts as not given. `order` is that of assignment, which shows when the object is printed. */
export function compileHash (
  hash: Hash | undefined,
  environment: CompileContext,
  order: 'as written' | 'from the last',
  wrap: (argument: Pick<Compiled, 'evaluate' | 'where'>, name: string) => Evaluator = ({ evaluate }) => evaluate
): (scope: Scope) => Readonly<Record<string, Value>> | typeof PENDING {
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

/** A name without arguments is a tool if there is one, otherwise a path. */
export function compileHead (head: CallNode, environment: CompileContext, use: Use): Compiled {
  if (head.params.length > 0 || head.hash !== undefined) return compileCall(head, environment, use)
  if (head.path.type === 'SubExpression') return environment.collection.compilers.expression(head.path, environment, use)
  const path = head.path.type === 'PathExpression' ? head.path : literalPath(head.path)
  const name = simpleName(path)
  if (name === undefined || findParam(name, environment.params) !== undefined) return compilePath(path, environment, use)
  if (isCallWithoutArguments(name)) return compileCall(head, environment, use)
  if (environment.collection.declared.has(name)) return compilePath(path, environment, use)

  const at = positionOf(head.loc.start)
  const slot = environment.collection.refer('maybe-function', name, [], undefined, at)
  const { evaluate, where } = compilePath(path, environment, use, slot)
  return {
    where,
    toolSlot: slot,
    evaluate: scope => scope.rendering.links[slot] === undefined ? evaluate(scope) : callTool(scope, slot, [], {}, at)
  }
}

function literalPath (literal: Literal): PathNode {
  const name = literalName(literal)
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc: literal.loc }
}
