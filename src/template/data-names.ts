import { Absent, NOTHING, PENDING, type Value, type ValueObject } from './value.ts'

/**
 * The names of all members that JavaScript gives to every object and list, and of the properties of the special values (`PENDING`, `Absent`, …).
 * Methods of the special values are not among them, because `dataMember` never returns a function.
 */
const OTHER_NAMES: ReadonlySet<string> = new Set([Object.prototype, Array.prototype, PENDING, NOTHING, new Absent('')].flatMap(Object.getOwnPropertyNames))

/**
 * Whether a member with this name can only be data or a method: neither JavaScript's own objects and lists nor the special values have a property of
 * that name.
 */
export function isDataName (name: string): boolean {
  return !OTHER_NAMES.has(name)
}

/**
 * Gives the member with this name, for which `isDataName` is true. `undefined` means that the caller must look the member up in the slow way. This
 * function does not check that the member is the object's own, because that check takes half the time of a look-up in a loop.
 */
export function dataMember (holder: object, name: string): Value | undefined {
  const value = (holder as ValueObject)[name]
  return typeof value === 'function' ? undefined : value
}
