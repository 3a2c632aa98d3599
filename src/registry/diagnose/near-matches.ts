import { distance } from 'fastest-levenshtein'

/** Names beyond this many are not compared, so that a wrong id stays cheap in a large registry. */
const MAX_COMPARED = 20_000

/**
 * Whether a name is another one, misspelt: one edit in a short name, two in a long one, none where both have two
 * letters at most, or two neighbours that have changed places; capitals do not count.
 */
export function isNearly (name: string, meant: string): boolean {
  const edits = Math.max(name.length, meant.length) < 3 ? 0 : meant.length < 6 ? 1 : 2
  if (Math.abs(name.length - meant.length) > edits) return false
  const [one, other] = [name.toLowerCase(), meant.toLowerCase()]
  return editsBetween(one, other) <= edits || hasSwapped(one, other)
}

/** Their distance, without what they begin and end with alike: ids of one registry mostly differ in a few letters, and long ones take microseconds. */
function editsBetween (one: string, other: string): number {
  const most = Math.min(one.length, other.length)
  let start = 0
  while (start < most && one.charCodeAt(start) === other.charCodeAt(start)) start++
  let end = 0
  while (end < most - start && one.charCodeAt(one.length - 1 - end) === other.charCodeAt(other.length - 1 - end)) end++
  return distance(one.slice(start, one.length - end), other.slice(start, other.length - end))
}

function hasSwapped (one: string, other: string): boolean {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return one[at] === other[at + 1] && one[at + 1] === other[at] && one.slice(at + 2) === other.slice(at + 2)
}

/** Up to three names that a caller may have meant, nearest first: few edits away, or with the same last segment. */
export function nearMatches (wanted: string, names: Iterable<string>): string[] {
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  const lastSegment = wanted.slice(wanted.lastIndexOf('.') + 1)
  const candidates: Array<{ name: string, edits: number }> = []
  let compared = 0
  for (const name of names) {
    if (++compared > MAX_COMPARED) break
    const sameEnd = name.endsWith(`.${lastSegment}`) || name === lastSegment
    if (!sameEnd && Math.abs(name.length - wanted.length) > limit) continue
    const edits = sameEnd ? 1 : editsBetween(wanted, name)
    if (edits <= limit) candidates.push({ name, edits })
  }
  return candidates.sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1)).slice(0, 3).map(candidate => candidate.name)
}

/** Those that are likely to be meant where nobody has asked: misspelt, or the same name in another module. */
export function likelyMatches (wanted: string, names: Iterable<string>): string[] {
  const likely: string[] = []
  for (const name of names) if (isNearly(wanted, name) || name.endsWith(`.${wanted}`)) likely.push(name)
  return nearMatches(wanted, likely)
}
