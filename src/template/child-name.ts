import { ownCopy } from '../base/text.ts'

/** The most names in the cache, and the longest name in it, in UTF-16 units. The cache needs limits, because callers can invent any number of names. */
const MOST_KEPT = 20_000
const MAX_KEPT_LENGTH = 200

// The cache is global to the process on purpose, because a name means the same everywhere.
const namesBelow = new Map<string, Map<string, string>>()
let kept = 0

/**
 * The name `parent.segment`, as the same string object each time. V8 computes the hash of a string object once, and a render looks up the name of
 * each shared variable several times. Without this cache, a render that reads five of them takes a tenth longer (row `kept/child-name` of the
 * benchmarks).
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
