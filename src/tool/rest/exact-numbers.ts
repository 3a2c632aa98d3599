import { holdsBigint, type Json, type JsonObject } from '../../base/json.ts'

/** The original values, with all digits, of objects and lists whose big integers were replaced by numbers. */
const originals = new WeakMap<object, Json>()

/** Replaces each `bigint` in a value by the nearest number, since the package ajv only knows numbers. The original value can be found again with `exactly`. */
export function toNumbers (value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || !holdsBigint(value)) return value
  const numbers = Array.isArray(value)
    ? value.map(toNumbers)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toNumbers(member as Json)]))
  originals.set(numbers, value)
  return numbers
}

/** The original of an object or list that `toNumbers` has converted, with all digits of its integers; any other value as it is. */
export function exactly (value: Json): Json {
  return typeof value === 'object' && value !== null ? originals.get(value) ?? value : value
}

/** The original value of a member, with all digits if it was a big integer. @param value the member's value in `parent`, which `toNumbers` has converted */
export function exactMember (value: Json, parent: Json, name: string | number): Json {
  if (typeof value !== 'number') return exactly(value)
  const whole = exactly(parent)
  const exact = typeof whole === 'object' && whole !== null ? (whole as JsonObject)[name] : undefined
  return typeof exact === 'bigint' && Number(exact) === value ? exact : value
}

/**
 * Whether a number is a multiple of another one, in the decimal form in which both were written. Their floating-point forms can be
 * rounded, so a tiny difference is allowed.
 */
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
