import { Absent, NOTHING, PENDING, type Value, type ValueObject } from './value.ts'

/** What every object and every list has, and what the special values have beside methods. */
const OTHER_NAMES: ReadonlySet<string> = new Set([Object.prototype, Array.prototype, PENDING, NOTHING, new Absent('')].flatMap(Object.getOwnPropertyNames))

/** Whether a member of that name, if it is no method, is a member of data: neither JavaScript's objects nor the special values have one. */
export function isDataName (name: string): boolean {
  return !OTHER_NAMES.has(name)
}

/**
 * The own member of an object, by a name that `isDataName`. `undefined` where the member has to be looked for with care. Half
 * the time of finding a member goes into asking whether it is the object's own, and a loop mostly finds members.
 */
export function dataMember (holder: object, name: string): Value | undefined {
  const value = (holder as ValueObject)[name]
  return typeof value === 'function' ? undefined : value
}
