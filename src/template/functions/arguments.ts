import { stringifyJson } from '../../base/json.ts'
import { isObject, NOTHING, type Value } from '../value.ts'
import { type FunctionContext, FunctionError } from './function.ts'
import { chargeText, measureJson } from './cost.ts'

/**
 * An argument of a function as text: numbers and booleans as they print, null and `NOTHING` (the result of a failed tool) as the empty text.
 * @throws FunctionError for a list or an object
 */
export function textArgument (value: Value | undefined, name: string, context: FunctionContext): string {
  if (typeof value === 'string') {
    chargeText(value.length, context)
    return value
  }
  if (value === null || value === NOTHING || value === undefined) return ''
  if (typeof value === 'object') throw new FunctionError(`${name} must be a text, not ${kindOf(value)}`)
  return String(value)
}

/** An argument of a function as a list; null and `NOTHING` (the result of a failed tool) are the empty list. @throws FunctionError for anything else */
export function listArgument (value: Value | undefined, name: string): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[]
  if (value === null || value === NOTHING || value === undefined) return []
  throw new FunctionError(`${name} must be a list, not ${kindOf(value)}`)
}

/** An argument of a function as a count. @throws FunctionError unless it is an integer from 0 to `most` */
export function countArgument (value: Value | undefined, name: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? 'an integer, 0 or more' : `an integer from 0 to ${most}`
  throw new FunctionError(`${name} must be ${range}, not ${typeof value === 'number' ? value : kindOf(value)}`)
}

/** The text that a value prints as: objects and lists as JSON, null and `NOTHING` (the result of a failed tool) as the empty text. */
export function printed (value: Value, context: FunctionContext): string {
  if (typeof value !== 'object') return typeof value === 'string' ? value : String(value)
  if (value === null || value === NOTHING) return ''
  measureJson(value, 0, context)
  return stringifyJson(value)
}

/** The kind of a value in the words of an error: `a list`, `an object`. */
export function kindOf (value: Value | undefined): string {
  if (value === null || value === NOTHING || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'boolean' ? 'a boolean' : 'a number'
}
