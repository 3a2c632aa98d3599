/** A line of a diff, with its line numbers in the old and in the new file. */
export interface DiffLine {
  readonly kind: 'add' | 'del' | 'same' | 'hunk'
  readonly text: string
  readonly before?: number
  readonly after?: number
  /** The part of the line that differs from the line which it replaces, or which replaces it, in UTF-16 units. */
  readonly mark?: { readonly from: number, readonly to: number }
}

/** Parses the unified diff of one file. */
export function diffLines (diff: string): readonly DiffLine[] {
  const lines: DiffLine[] = []
  let before = 0
  let after = 0
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(text)
    if (hunk !== null) {
      before = Number(hunk[1])
      after = Number(hunk[2])
      lines.push({ kind: 'hunk', text: hunk[3]?.trim() ?? '' })
    } else if (/^(?:---|\+\+\+) /.test(text) && before === 0 && after === 0) continue
    else if (text.startsWith('+')) lines.push({ kind: 'add', text: text.slice(1), after: after++ })
    else if (text.startsWith('-')) lines.push({ kind: 'del', text: text.slice(1), before: before++ })
    else lines.push({ kind: 'same', text: text.slice(1), before: before++, after: after++ })
  }
  return marked(lines)
}

/** Counts the lines that a diff adds and removes. */
export function countOf (diff: string): { readonly added: number, readonly removed: number } {
  const lines = diffLines(diff)
  return { added: lines.filter(({ kind }) => kind === 'add').length, removed: lines.filter(({ kind }) => kind === 'del').length }
}

/** Marks the difference of two lines of which one replaces the other: all but what is equal at their beginnings and ends. */
function marked (lines: readonly DiffLine[]): readonly DiffLine[] {
  const result = [...lines]
  for (let start = 0; start < result.length; start++) {
    if (result[start]?.kind !== 'del') continue
    const removed = runOf(result, start, 'del')
    const added = runOf(result, start + removed, 'add')
    for (let index = 0; index < Math.min(removed, added); index++) {
      const [old, now] = [result[start + index] as DiffLine, result[start + removed + index] as DiffLine]
      const { head, tail } = alike(old.text, now.text)
      if (head + tail < 3) continue
      result[start + index] = { ...old, mark: { from: head, to: old.text.length - tail } }
      result[start + removed + index] = { ...now, mark: { from: head, to: now.text.length - tail } }
    }
    start += removed + added - 1
  }
  return result
}

function runOf (lines: readonly DiffLine[], start: number, kind: DiffLine['kind']): number {
  let length = 0
  while (lines[start + length]?.kind === kind) length++
  return length
}

function alike (one: string, other: string): { readonly head: number, readonly tail: number } {
  const most = Math.min(one.length, other.length)
  let head = 0
  while (head < most && one[head] === other[head]) head++
  let tail = 0
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++
  return { head, tail }
}
