import { Absent, NOTHING, PENDING, type Pending, type Value } from '../../value.ts'

/** Whether a value counts as true in a condition such as `if`. False are: false, 0, NaN, empty texts and lists, null, `NOTHING` and absent. */
export function isTrue (value: Value): boolean | Pending {
  if (typeof value !== 'object') return Boolean(value)
  if (value === null || value === NOTHING) return false
  if (value === PENDING) return PENDING
  if (Array.isArray(value)) return value.length > 0
  // A `LazyNode` is an object, and objects are true, empty or not: so it need not be read.
  return !(value instanceof Absent)
}
