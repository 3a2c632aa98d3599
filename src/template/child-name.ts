/** How many names are kept; callers can make up any number of them. */
const MOST_KEPT = 50_000

// Shared by everything in the process on purpose: names mean the same everywhere.
const namesBelow = new Map<string, Map<string, string>>()
let kept = 0

/**
 * `parent.segment`, the same string whenever it is asked for. A string's hash is worked out once, and a render looks the
 * name of each shared variable up several times.
 */
export function childName (parent: string, segment: string): string {
  const known = namesBelow.get(parent)?.get(segment)
  return known ?? keep(parent, segment)
}

function keep (parent: string, segment: string): string {
  if (kept >= MOST_KEPT) {
    namesBelow.clear()
    kept = 0
  }
  const name = `${parent}.${segment}`
  const siblings = namesBelow.get(parent)
  if (siblings === undefined) namesBelow.set(parent, new Map([[segment, name]]))
  else siblings.set(segment, name)
  kept++
  return name
}
