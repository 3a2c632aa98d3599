import { type Json } from '../../../../src/base/json.ts'
import { type Plain, type Value } from './values.ts'

/** Where the two languages differ in what they make of values. */
export interface Rules {
  /** Whether a condition holds; nothing is consumed. */
  isTrue (value: Value): boolean
  /** Whether `with` enters. */
  enters (value: Value): boolean
  /** What a value prints as. */
  print (value: Plain): string
  /** A member of a value, found by its name in a path. */
  member (holder: Value, name: string): Value
  /** An element or member, found by a computed key: `index` or `lookup`. */
  element (holder: Value, key: Plain): Value
  length (value: Plain): number
  isEqual (left: Plain, right: Plain): boolean
  isLess (left: Plain, right: Plain): boolean
  /** Elements to iterate over with their keys; `undefined` for what takes the else branch. */
  elements (value: Value, hasKey: boolean): Elements | undefined
}

export type Elements = ReadonlyArray<{ readonly key: Json, readonly value: Value }>
