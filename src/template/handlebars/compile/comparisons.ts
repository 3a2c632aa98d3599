import { kindOf } from '../../functions/arguments.ts'
import { chargeText } from '../../functions/cost.ts'
import { FunctionError, type FunctionContext, type TemplateFunction } from '../../functions/function.ts'
import { NOTHING, type Value } from '../../value.ts'

/** A built-in function that gets the values of all its arguments. */
export type Builtin = Pick<TemplateFunction, 'name' | 'arity' | 'apply'>

/**
 * The comparison functions of Go's template language, as this service offers them in Handlebars. Values of different types are unequal, which is an
 * error in Go. Null and `NOTHING` are equal, and integers of any size are compared exactly.
 */
export const COMPARISONS: ReadonlyMap<string, Builtin> = new Map([
  compare('eq', Number.MAX_SAFE_INTEGER, ([value, ...others], context) => others.some(other => isEqual(value as Value, other, context))),
  compare('ne', 2, ([one, other], context) => !isEqual(one as Value, other as Value, context)),
  compare('lt', 2, ([one, other], context) => isOrdered('<', one, other, context)),
  compare('le', 2, ([one, other], context) => isOrdered('<=', one, other, context)),
  compare('gt', 2, ([one, other], context) => isOrdered('<', other, one, context)),
  compare('ge', 2, ([one, other], context) => isOrdered('<=', other, one, context))
])

function compare (name: string, most: number, apply: TemplateFunction['apply']): [string, Builtin] {
  return [name, { name, arity: { least: 2, most }, apply }]
}

function isEqual (one: Value, other: Value, context: FunctionContext): boolean {
  const left = scalar(one, context)
  const right = scalar(other, context)
  // Only an integer can equal an integer of the other JavaScript type: `1n == 1`, as Go's `eq` would say.
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
