import { PENDING, type Value } from '../../value.ts'
import { type Call, type Expression, type Hash } from '../syntax/ast.ts'
import { positionOf } from '../syntax/parse.ts'
import { type Compiled } from './compiled.ts'
import { syntaxError, type Environment } from './environment.ts'
import { type Evaluate, type Scope } from './scope.ts'

/** Checks the arguments of a call. @throws TemplateSyntaxError unless their number fits and none is named */
export function checkArity (name: string, call: Call, least: number, most: number): void {
  const [named] = call.hash?.pairs ?? []
  if (named !== undefined) throw syntaxError(`"${name}" takes no named arguments`, named)
  const count = call.params.length
  if (count >= least && count <= most) return
  const wanted = least === most ? `${least}` : most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `${least} to ${most}`
  throw syntaxError(`"${name}" takes ${wanted} argument${wanted === '1' ? '' : 's'}, not ${count}`, call)
}

/** The name that a literal means where a name is expected: `{{"first name"}}`, `{{12}}`. */
export function literalName (literal: Exclude<Expression, { type: 'SubExpression' | 'PathExpression' }>): string {
  if (literal.type === 'NullLiteral') return 'null'
  return literal.type === 'UndefinedLiteral' ? 'undefined' : String(literal.original)
}

/** Compiles an argument whose value is used in full: an absent value is noted as missing, a `LazyNode` is read. */
export function compileArgument (expression: Expression, environment: Environment): Pick<Compiled, 'evaluate' | 'where'> {
  const { evaluate, where } = environment.collection.compilers.expression(expression, environment, 'used')
  const at = positionOf(expression.loc.start)
  const consume: Evaluate = scope => {
    const value = evaluate(scope)
    return typeof value !== 'object' || value === null ? value : scope.rendering.run.consume(value, at)
  }
  return { evaluate: consume, where }
}

/**
 * Compiles the arguments of a call. The result is pending when one of them is, but only after all have been evaluated, so that all missing values are
 * found at once.
 */
export function compileArguments (params: readonly Expression[], environment: Environment): (scope: Scope) => readonly Value[] | typeof PENDING {
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

/** Wraps the evaluation of a named argument, for example to trace it. */
export type WrapArgument = (argument: Pick<Compiled, 'evaluate' | 'where'>, name: string) => Evaluate

/**
 * Compiles named arguments into an object without a prototype; pending as in `compileArguments`. An argument that is `undefined` counts as not given.
 * @param hash the named arguments, which are evaluated in this order
 * @param order the order in which the members are assigned, which shows when the object is printed
 * @param wrap wraps the evaluation of each argument
 */
export function compileHash (
  hash: Hash | undefined,
  environment: Environment,
  order: 'as written' | 'from the last',
  wrap: WrapArgument = ({ evaluate }) => evaluate
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
