import { holdsBigint, type Json, type JsonObject } from '../../base/json.ts'

/** The objects and lists whose `bigint`s were replaced by numbers, each with its original. */
const originals = new WeakMap<object, Json>()

/** A copy of the value in which every `bigint` is the nearest number, which is an integer, too. It is needed, because the package ajv knows only numbers. */
export function toNumbers (value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null || !holdsBigint(value)) return value
  const numbers = Array.isArray(value)
    ? value.map(toNumbers)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toNumbers(member as Json)]))
  originals.set(numbers, value)
  return numbers
}

/** The original of an object or list in which `bigint`s were replaced. */
export function exactly (value: Json): Json {
  return typeof value === 'object' && value !== null ? originals.get(value) ?? value : value
}

/** The original value of a member. @param value the member in `parent`, where `bigint`s were replaced */
export function exactMember (value: Json, parent: Json, name: string | number): Json {
  if (typeof value !== 'number') return exactly(value)
  const whole = exactly(parent)
  const exact = typeof whole === 'object' && whole !== null ? (whole as JsonObject)[name] : undefined
  return typeof exact === 'bigint' && Number(exact) === value ? exact : value
}

/** Whether a number is a multiple of another one, as both are written in decimals. Their doubles may be off by a rounding. */
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
