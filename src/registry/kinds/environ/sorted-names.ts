import { compareNames } from './name-list.ts'

/** The position, in a sorted list, of the first name that is equal to `name` or comes after it. */
export function positionOf (sorted: readonly string[], name: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareNames(sorted[middle] as string, name) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a sorted list has a name. */
export function holds (sorted: readonly string[], name: string): boolean {
  return sorted[positionOf(sorted, name)] === name
}

/** A copy of a sorted list without some of its names and with new ones. */
export function amend (sorted: readonly string[], without: ReadonlySet<string>, more: readonly string[]): readonly string[] {
  if (without.size === 0 && more.length === 0) return sorted
  const kept = without.size === 0 ? sorted : sorted.filter(name => !without.has(name))
  return [...kept, ...more].sort(compareNames)
}
