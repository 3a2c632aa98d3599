import { kindOf } from '../../functions/arguments.ts'
import { FunctionError } from '../../functions/function.ts'
import { memberNames } from '../../member-names.ts'
import { Absent, isObject, LazyNode, NOTHING, PENDING, type Value } from '../../value.ts'
import { type Call, type Expression } from '../syntax/ast.ts'
import { checkArity, compileArgument } from './arguments.ts'
import { type Compiled } from './compiled.ts'
import { type Environment, type Use } from './environment.ts'
import { failAt } from './failure.ts'
import { memberOf, missing } from './members.ts'
import { positionOf } from '../syntax/parse.ts'
import { type Evaluate } from './scope.ts'
import { isTrue } from './truth.ts'
import { extendPath, memberAt, oneOf, solePath, UNKNOWN, type StaticPath } from './static-path.ts'

/**
 * Compiles a call of one form: a built-in function, such as `and` or `len`, that does not evaluate every argument or does not need an argument's whole
 * value.
 */
type CompileForm = (call: Call, environment: Environment, use: Use) => Compiled

const MANY = Number.MAX_SAFE_INTEGER

/** Compiles `default fallback value`. The value is evaluated first; the fallback is used only when the value is absent, null, `NOTHING` or the empty text. */
const compileDefault: CompileForm = (call, environment, use) => {
  checkArity('default', call, 2, 2)
  const [fallback, value] = call.params as [Expression, Expression]
  const { evaluate: evaluateValue, where } = environment.collection.compilers.expression(value, environment, 'tested')
  const compiled = environment.collection.compilers.expression(fallback, environment, useOfOneOfSeveral(use))
  const evaluateFallback = environment.tracing.fallback(compiled.evaluate)
  return valueAt(oneOfSeveral(use, where, compiled.where), scope => {
    const first = evaluateValue(scope)
    const isThere = first !== '' && first !== null && first !== NOTHING && !(first instanceof Absent)
    return isThere ? first : evaluateFallback(scope)
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

/** Compiles `and`, which stops at the first false operand, or `or`, which stops at the first true one. If none stops it, the last operand is the result. */
const compileJunction = (name: string, decisive: boolean): CompileForm => (call, environment, use) => {
  checkArity(name, call, 1, MANY)
  const last = call.params.length - 1
  const operands = call.params.map((param, index) =>
    environment.collection.compilers.expression(param, environment, decisive && index < last ? 'tested' : useOfOneOfSeveral(use)))
  const evaluates = operands.map(({ evaluate }) => evaluate)
  // An object counts as true, so the result of `and` can be an object only if that object is the last operand.
  const holders = decisive ? operands : operands.slice(last)
  return valueAt(oneOfSeveral(use, ...holders.map(({ where }) => where)), scope => {
    for (let index = 0; index < last; index++) {
      const value = (evaluates[index] as Evaluate)(scope)
      const truth = isTrue(value)
      if (truth === PENDING || truth === decisive) return value
    }
    return (evaluates[last] as Evaluate)(scope)
  })
}

/** Compiles `lookup holder key` or `index holder key…`. Each key is one segment of the value's path, even if it contains dots. */
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

/**
 * Compiles `len value`: the length of a text in UTF-16 units, the number of elements of a list or of members of an object. Of a `LazyNode` only the names
 * are read, not the values.
 */
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

/** Whether a name is that of a form (a built-in function with a compiler of its own, such as `and`). */
export function isForm (name: string): boolean {
  return FORMS.has(name)
}

/** Compiles the call of a form (a built-in function with a compiler of its own, such as `and`). @throws TemplateSyntaxError */
export function compileForm (name: string, call: Call, environment: Environment, use: Use): Compiled {
  return (FORMS.get(name) as CompileForm)(call, environment, use)
}

/**
 * How a function that returns one of its operands uses each operand. When only a member of the result is read, it is not known in which operand the
 * member is looked up, so the operands themselves are noted as tested.
 */
function useOfOneOfSeveral (use: Use): Use {
  return use === 'descended' ? 'tested' : use
}

function oneOfSeveral (use: Use, ...values: readonly StaticPath[]): StaticPath {
  return use === 'descended' ? UNKNOWN : oneOf(...values)
}

function valueAt (where: StaticPath, evaluate: Evaluate): Compiled {
  return { evaluate, where }
}

/** The segment that stands for a key in a path: the key itself if it is a literal, `*` for a computed key. */
function literalKey (key: Expression): string {
  return key.type === 'StringLiteral' || key.type === 'NumberLiteral' ? String(key.value) : '*'
}

/**
 * The element of a value by a key. As in the package handlebars, a text, number or boolean that counts as false is itself the result. An element of
 * an absent value is absent, and reading it is not reported as a missing value.
 */
function elementOf (holder: Value, key: Value, label: string): Value {
  if (holder === PENDING || holder === NOTHING) return holder
  if (typeof holder !== 'object' || holder === null) return holder ? missing(holder, false, label) : holder
  if (key === null || typeof key === 'object') return missing(holder, false, label)
  const member = memberOf(holder, String(key))
  return member === undefined ? missing(holder, false, label) : member
}
