import { holdsBigint, type Json, type JsonObject } from '../../base/json.ts'

/** Objects and lists that have numbers in place of integers, with those that they were made from. */
const originals = new WeakMap<object, Json>()

/** The value with every `bigint` as the nearest number, which is an integer, too. The package ajv knows only numbers. */
export function toNumbers (value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || !holdsBigint(value)) return value
  const numbers = Array.isArray(value)
    ? value.map(toNumbers)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toNumbers(member as Json)]))
  originals.set(numbers, value)
  return numbers
}

/** An object or a list with its integers in full. */
export function exactly (value: Json): Json {
  return typeof value === 'object' && value !== null ? originals.get(value) ?? value : value
}

/** A member with its integers in full. @param value what it is in `parent`, which has numbers */
export function exactMember (value: Json, parent: Json, name: string | number): Json {
  if (typeof value !== 'number') return exactly(value)
  const whole = exactly(parent)
  const exact = typeof whole === 'object' && whole !== null ? (whole as JsonObject)[name] : undefined
  return typeof exact === 'bigint' && Number(exact) === value ? exact : value
}

/** Whether a number is a multiple of another, as the decimals that were written. The doubles of both may be off by a rounding. */
export function isMultiple (value: number | bigint, step: number | bigint): boolean {
  const areIntegers = isInteger(value) && isInteger(step)
  if (isInteger(step) && !isInteger(value)) return false
  if (areIntegers) return typeof value === 'number' && typeof step === 'number' ? value % step === 0 : BigInt(value) % BigInt(step) === 0n
  const times = Number(value) / Number(step)
  return Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times)
}

function isInteger (value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}
