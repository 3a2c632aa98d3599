import { memberNames } from '../../member-names.ts'
import { Absent, LazyNode, Nothing, PENDING, type Pending } from '../../value.ts'
import { GoByte, GoComplex, GoFloat, type GoValue } from './go-value.ts'

/**
 * Whether a value counts as true in a condition in Go. False are: false, 0, "", nil, and what is empty or missing. `PENDING` when the value is not known
 * yet.
 */
export function truthOf (value: GoValue): boolean | Pending {
  switch (typeof value) {
    case 'boolean': return value
    case 'string': return value !== ''
    // NaN is true in Go, because it is not zero.
    case 'number': return value !== 0
    case 'bigint': return true
  }
  if (value === null) return false
  if (Array.isArray(value)) return value.length > 0
  return truthOfObject(value)
}

function truthOfObject (value: object): boolean | Pending {
  if (value === PENDING) return PENDING
  if (value instanceof Absent || value instanceof Nothing) return false
  if (value instanceof LazyNode) {
    const keys = value.keys()
    return keys === PENDING ? PENDING : (keys as readonly string[]).length > 0
  }
  if (value instanceof GoFloat || value instanceof GoByte) return value.value !== 0
  if (value instanceof GoComplex) return value.real !== 0 || value.imaginary !== 0
  return memberNames(value).length > 0
}
