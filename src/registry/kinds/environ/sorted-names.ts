import { compareNames } from './name-list.ts'

/** Where the first of some sorted names that is not before `name` stands. */
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

/** Whether sorted names hold that one. */
export function holds (sorted: readonly string[], name: string): boolean {
  return sorted[positionOf(sorted, name)] === name
}

/** Sorted names without some and with others, as a new list. */
export function amend (sorted: readonly string[], without: ReadonlySet<string>, more: readonly string[]): readonly string[] {
  if (without.size === 0 && more.length === 0) return sorted
  const kept = without.size === 0 ? sorted : sorted.filter(name => !without.has(name))
  return [...kept, ...more].sort(compareNames)
}
