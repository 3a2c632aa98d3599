import { type Value } from '../value.ts'

/**
 * Compares two values in the order of `sortBy`: numbers, then texts by code units, then booleans (false first), then all other values, which count as
 * equal. Integers of any size are compared exactly.
 */
export function compareForSorting (one: Value, other: Value): number {
  const rank = rankOf(one)
  const difference = rank - rankOf(other)
  if (difference !== 0 || rank === LAST_RANK) return difference
  return less(one, other) ? -1 : less(other, one) ? 1 : 0
}

const LAST_RANK = 3

function rankOf (value: Value): number {
  switch (typeof value) {
    case 'number':
    case 'bigint': return 0
    case 'string': return 1
    case 'boolean': return 2
    default: return LAST_RANK
  }
}

function less (one: Value, other: Value): boolean {
  return (one as number) < (other as number)
}
