import { distance } from 'fastest-levenshtein'

/** The greatest number of names that one search for similar names compares, so that a wrong id stays cheap in a large registry. */
const MAX_COMPARED = 20_000
/**
 * The budget of one search for similar names, in steps of some nanoseconds. Comparing two names takes about a step for each character; long names
 * take many times that.
 */
const MAX_STEPS = 400_000

/** The budget that is left for a search for similar names. It keeps the search within one turn of the event loop, however many and long the names are. */
export class Effort {
  left = MAX_STEPS
  #names = MAX_COMPARED

  spend (steps: number): void {
    this.left -= steps
  }

  /** Yields the given names one by one until this budget is used up. */
  * affordable (names: Iterable<string>): Generator<string> {
    for (const name of names) {
      if (this.left <= 0 || this.#names-- <= 0) return
      yield name
    }
  }
}

/**
 * Whether a name looks like a misspelling of another one. A short name can differ in one letter, a long one in two, and names of up to two letters in
 * none; or two neighbouring letters have changed places. Capitals do not count.
 */
export function isNearly (name: string, meant: string, effort = new Effort()): boolean {
  const edits = Math.max(name.length, meant.length) < 3 ? 0 : meant.length < 6 ? 1 : 2
  if (Math.abs(name.length - meant.length) > edits) return false
  const [one, other] = [name.toLowerCase(), meant.toLowerCase()]
  effort.spend(one.length)
  return editsBetween(one, other, effort) <= edits || hasSwapped(one, other)
}

/**
 * The edit distance of two names (how many letters must be added, removed or replaced). Equal beginnings and ends are cut off first: ids of one
 * registry mostly differ in a few letters, so this keeps long ones fast. Infinity when the comparison would cost more than the budget has left.
 */
function editsBetween (one: string, other: string, effort: Effort): number {
  const most = Math.min(one.length, other.length)
  let start = 0
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start++
  let end = 0
  while (end < most - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) end++
  const [rest, otherRest] = [one.slice(start, one.length - end), other.slice(start, other.length - end)]
  effort.spend(start + end)
  const steps = stepsOf(rest.length, otherRest.length)
  const isAffordable = steps <= effort.left
  effort.spend(steps)
  return isAffordable ? distance(rest, otherRest) : Infinity
}

/** The cost of comparing two texts. The algorithm is bit-parallel: it compares 32 characters of one text at a time with each character of the other. */
function stepsOf (length: number, otherLength: number): number {
  return Math.ceil(Math.min(length, otherLength) / 32) * Math.max(length, otherLength)
}

function hasSwapped (one: string, other: string): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2)
}

/** Up to three names that a caller perhaps meant, the nearest first: names that are few edits away, or that have the same last segment. */
export function nearMatches (wanted: string, names: Iterable<string>, effort = new Effort()): string[] {
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  const lastSegment = wanted.slice(wanted.lastIndexOf('.') + 1)
  let nearest: readonly NearMatch[] = []
  for (const name of effort.affordable(names)) {
    const sameEnd = name.endsWith(`.${lastSegment}`) || name === lastSegment
    if (!sameEnd && Math.abs(name.length - wanted.length) > limit) continue
    const edits = sameEnd ? 1 : editsBetween(wanted, name, effort)
    if (edits <= limit) nearest = withNext(nearest, { name, edits })
  }
  return nearest.map(candidate => candidate.name)
}

interface NearMatch { readonly name: string, readonly edits: number }

/**
 * The three nearest of the candidates so far and a new one, in order. Every name can be a candidate, and sorting all of them would take longer than
 * comparing them.
 */
function withNext (nearest: readonly NearMatch[], next: NearMatch): readonly NearMatch[] {
  const last = nearest[2]
  return last !== undefined && byNearness(last, next) < 0 ? nearest : [...nearest, next].sort(byNearness).slice(0, 3)
}

function byNearness (one: NearMatch, other: NearMatch): number {
  return one.edits - other.edits || (one.name < other.name ? -1 : 1)
}

/**
 * Picks the names that the author of a misspelt name most likely meant: names that are nearly equal, and those that end with the whole name
 * (`git.status` for `status`). The search is strict, because its result is shown as a hint that nobody has asked for.
 * @param effort the budget, which several searches can share
 */
export function likelyMatches (wanted: string, names: Iterable<string>, effort: Effort): string[] {
  const likely: string[] = []
  for (const name of effort.affordable(names)) if (isNearly(wanted, name, effort) || name.endsWith(`.${wanted}`)) likely.push(name)
  return nearMatches(wanted, likely)
}
