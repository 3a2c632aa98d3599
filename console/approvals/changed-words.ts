/** A part of a text, in UTF-16 units. */
export interface Range { readonly from: number, readonly to: number }

/**
 * How many words of each text are compared one by one, apart from the words at the beginning and the end that are the same in both. In
 * longer texts, all other words count as changed.
 */
const MOST = 400

/** Finds the words of the text `after` that the text `before` does not have at this place. A person who has read `before` has to look at them. */
export function changedWords (before: string, after: string): readonly Range[] {
  const [old, now] = [wordsOf(before), wordsOf(after)]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const kept = keptOf(old.slice(head, old.length - tail), now.slice(head, now.length - tail))
  const ranges: Range[] = []
  let at = 0
  for (const [index, word] of now.entries()) {
    const isChanged = index >= head && index < now.length - tail && !kept.has(index - head) && word.trim() !== ''
    const last = ranges.at(-1)
    // The blanks between two changed words are marked with the words.
    if (isChanged && last !== undefined && after.slice(last.to, at).trim() === '') ranges.splice(-1, 1, { from: last.from, to: at + word.length })
    else if (isChanged) ranges.push({ from: at, to: at + word.length })
    at += word.length
  }
  return ranges
}

function wordsOf (text: string): readonly string[] {
  return text.match(/[\p{L}\p{M}\p{N}_]+|\s+|[^\p{L}\p{M}\p{N}_\s]/gu) ?? []
}

/** The indices of the words of `now` that belong to the longest common subsequence of both texts. */
function keptOf (old: readonly string[], now: readonly string[]): ReadonlySet<number> {
  if (old.length > MOST || now.length > MOST) return new Set()
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const row = lengths[i] as Uint16Array
      row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const kept = new Set<number>()
  for (let i = 0, j = 0; i < old.length && j < now.length;) {
    if (old[i] === now[j]) {
      kept.add(j)
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return kept
}
