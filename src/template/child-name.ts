import { ownCopy } from '../base/text.ts'

/** How many names are kept, and how long they may be, in UTF-16 units. Callers can make up as many as they like. */
const MOST_KEPT = 20_000
const MAX_KEPT_LENGTH = 200

// Shared by everything in the process on purpose: names mean the same everywhere.
const namesBelow = new Map<string, Map<string, string>>()
let kept = 0

/**
 * `parent.segment`, the same string object whenever it is asked for. V8 works out the hash of a string once, and a render
 * looks up the name of each shared variable several times. Without this, a render that reads five of them takes a tenth
 * longer (row `kept/child-name` of the benchmarks).
 */
export function childName (parent: string, segment: string): string {
  const known = namesBelow.get(parent)?.get(segment)
  return known ?? keep(parent, segment)
}

function keep (parent: string, segment: string): string {
  if (parent.length + segment.length > MAX_KEPT_LENGTH) return `${parent}.${segment}`
  if (kept >= MOST_KEPT) {
    namesBelow.clear()
    kept = 0
  }
  const name = ownCopy(`${parent}.${segment}`)
  const siblings = namesBelow.get(parent) ?? new Map<string, string>()
  if (siblings.size === 0) namesBelow.set(ownCopy(parent), siblings)
  siblings.set(ownCopy(segment), name)
  kept++
  return name
}
