import { distance } from 'fastest-levenshtein'

/** Names per search, so that a wrong id stays cheap in a large registry. */
const MAX_COMPARED = 20_000
/** For one search, in steps of some nanoseconds: about one for each character, many more for long names. */
const MAX_STEPS = 400_000

export class Effort {
  left = MAX_STEPS
  #names = MAX_COMPARED

  spend (steps: number): void {
    this.left -= steps
  }

  * affordable (names: Iterable<string>): Generator<string> {
    for (const name of names) {
      if (this.left <= 0 || this.#names-- <= 0) return
      yield name
    }
  }
}

/** Up to two letters: no edit; short names one, long ones two, or two neighbours swapped. Capitals do not count. */
export function isNearly (name: string, meant: string, effort = new Effort()): boolean {
  const edits = Math.max(name.length, meant.length) < 3 ? 0 : meant.length < 6 ? 1 : 2
  if (Math.abs(name.length - meant.length) > edits) return false
  const [one, other] = [name.toLowerCase(), meant.toLowerCase()]
  effort.spend(one.length)
  return editsBetween(one, other, effort) <= edits || hasSwapped(one, other)
}

/** Cuts equal ends off first, as ids mostly differ in a few letters. Infinity beyond the budget. */
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

/** The algorithm is bit-parallel: 32 characters of one text at a time. */
function stepsOf (length: number, otherLength: number): number {
  return Math.ceil(Math.min(length, otherLength) / 32) * Math.max(length, otherLength)
}

function hasSwapped (one: string, other: string): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2)
}

/** Up to three, the nearest first: few edits away, or with the same last segment. */
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

/** Every name can be a candidate, and sorting all would take longer than comparing them. */
function withNext (nearest: readonly NearMatch[], next: NearMatch): readonly NearMatch[] {
  const last = nearest[2]
  return last !== undefined && byNearness(last, next) < 0 ? nearest : [...nearest, next].sort(byNearness).slice(0, 3)
}

function byNearness (one: NearMatch, other: NearMatch): number {
  return one.edits - other.edits || (one.name < other.name ? -1 : 1)
}

/** Strict, because nobody has asked for this hint: nearly equal names, and those that end with the whole name. */
export function likelyMatches (wanted: string, names: Iterable<string>, effort: Effort): string[] {
  const likely: string[] = []
  for (const name of effort.affordable(names)) if (isNearly(wanted, name, effort) || name.endsWith(`.${wanted}`)) likely.push(name)
  return nearMatches(wanted, likely)
}
