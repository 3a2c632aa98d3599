import { changedWords, type Range } from '../../approvals/changed-words.ts'

/** A line of a diff, with its line numbers in the old and in the new file. A `note` is a word of the service about the file. */
export interface DiffLine {
  readonly kind: 'add' | 'del' | 'same' | 'note'
  readonly text: string
  readonly before?: number
  readonly after?: number
  /** The text of the line which it replaces, or which replaces it. */
  readonly other?: string
}

/** Lines that follow each other, and the numbers of the first of them in both files. */
export interface Hunk {
  readonly before: number
  readonly after: number
  /** What the service says about the place, such as the name of a function. */
  readonly title: string
  readonly lines: readonly DiffLine[]
}

/** Parses the unified diff of one file. What is no part of a hunk is a note. */
export function hunksOf (diff: string): readonly Hunk[] {
  const hunks: Array<Hunk & { lines: DiffLine[] }> = []
  let [before, after] = [0, 0]
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const start = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)/.exec(line)
    if (start !== null) {
      // A range without lines names the line before it.
      before = Number(start[1]) + (start[2] === '0' ? 1 : 0)
      after = Number(start[3]) + (start[4] === '0' ? 1 : 0)
      hunks.push({ before, after, title: start[5]?.trim() ?? '', lines: [] })
      continue
    }
    if (hunks.length === 0 && /^(?:---|\+\+\+) /.test(line)) continue
    if (hunks.length === 0) hunks.push({ before: 1, after: 1, title: '', lines: [] })
    const lines = hunks.at(-1)?.lines as DiffLine[]
    const text = line.slice(1)
    if (line.startsWith('+')) lines.push({ kind: 'add', text, after: after++ })
    else if (line.startsWith('-')) lines.push({ kind: 'del', text, before: before++ })
    else if (line.startsWith(' ')) lines.push({ kind: 'same', text, before: before++, after: after++ })
    else lines.push({ kind: 'note', text: line.replace(/^\\ /, '') })
  }
  return hunks.map(hunk => ({ ...hunk, lines: paired(hunk.lines) }))
}

/** Counts the lines that a diff adds and removes. */
export function countOf (diff: string): { readonly added: number, readonly removed: number } {
  const body = diff.slice(Math.max(0, diff.indexOf('\n@@ ')))
  return { added: body.match(/\n\+/g)?.length ?? 0, removed: body.match(/\n-/g)?.length ?? 0 }
}

/** Gives lines that are removed, and as many that are added after them, the texts of each other. */
function paired (lines: readonly DiffLine[]): readonly DiffLine[] {
  const result = [...lines]
  for (let start = 0; start < result.length; start++) {
    if (result[start]?.kind !== 'del') continue
    const removed = runOf(result, start, 'del')
    const added = runOf(result, start + removed, 'add')
    for (let index = 0; index < Math.min(removed, added); index++) {
      const [old, now] = [result[start + index] as DiffLine, result[start + removed + index] as DiffLine]
      result[start + index] = { ...old, other: now.text }
      result[start + removed + index] = { ...now, other: old.text }
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

/** The length of both lines together, in UTF-16 units, up to which they are compared word by word. */
const LONG = 20_000

/** The share of a line from which on it counts as another line, of which no words are marked. */
const ANOTHER = 0.8

const known = new WeakMap<DiffLine, readonly Range[]>()

/** The words of a line that the line which it replaces, or which replaces it, does not have. They are looked for when the line is shown. */
export function marksOf (line: DiffLine): readonly Range[] {
  const { text, other } = line
  if (other === undefined) return []
  const found = known.get(line) ?? (text.length + other.length > LONG ? middleOf(other, text) : changedWords(other, text))
  known.set(line, found)
  return found.reduce((sum, { from, to }) => sum + to - from, 0) > ANOTHER * text.trim().length ? [] : found
}

/** All of a text but what is equal at the beginnings and ends of both. */
function middleOf (other: string, text: string): readonly Range[] {
  const most = Math.min(other.length, text.length)
  let head = 0
  while (head < most && other[head] === text[head]) head++
  let tail = 0
  while (tail < most - head && other[other.length - 1 - tail] === text[text.length - 1 - tail]) tail++
  return head < text.length - tail ? [{ from: head, to: text.length - tail }] : []
}

/** A row on the screen: a line, a part of a long one, or lines between two hunks that are not shown. */
export type Row =
  | { readonly kind: 'line', readonly line: DiffLine, readonly from: number, readonly to: number }
  /** `count` is `undefined` while nobody knows it. */
  | { readonly kind: 'gap', readonly gap: number, readonly title: string, readonly count: number | undefined }

/** The length of a line, in UTF-16 units, from which on it takes several rows. */
const WIDE = 2000

/**
 * Lays out a diff. A gap is before each hunk, with the hunk's index, and one is after the last.
 * @param opened how many lines of each gap are shown: those next to the hunk
 * @param texts the lines of the new file, once they are known
 */
export function rowsOf (
  hunks: readonly Hunk[], opened: ReadonlyMap<number, number>, texts: readonly string[] | undefined, hasEnd: boolean
): readonly Row[] {
  const rows: Row[] = []
  let [before, after] = [1, 1]
  const show = (first: number, count: number): void => {
    for (let line = first; line < first + count; line++) {
      addLine(rows, { kind: 'same', text: texts?.[line - 1] ?? '', before: line - after + before, after: line })
    }
  }
  for (const [gap, hunk] of hunks.entries()) {
    const count = hunk.after - after
    const open = texts === undefined ? 0 : Math.min(count, opened.get(gap) ?? 0)
    if (count > open) rows.push({ kind: 'gap', gap, title: hunk.title, count: count - open })
    show(hunk.after - open, open)
    for (const line of hunk.lines) addLine(rows, line)
    before = hunk.before + hunk.lines.filter(({ kind }) => kind === 'same' || kind === 'del').length
    after = hunk.after + hunk.lines.filter(({ kind }) => kind === 'same' || kind === 'add').length
  }
  if (!hasEnd) return rows
  const count = texts === undefined ? undefined : Math.max(0, texts.length - after + 1)
  const open = Math.min(count ?? 0, opened.get(hunks.length) ?? 0)
  show(after, open)
  if (count === undefined || count > open) rows.push({ kind: 'gap', gap: hunks.length, title: '', count: count === undefined ? undefined : count - open })
  return rows
}

function addLine (rows: Row[], line: DiffLine): void {
  const { length } = line.text
  for (let from = 0, to = 0; from < length || from === 0; from = to) {
    to = Math.min(length, from + WIDE)
    // Half a character is none.
    if (to < length && /[\uDC00-\uDFFF]/.test(line.text.charAt(to))) to++
    rows.push({ kind: 'line', line, from, to })
    if (length === 0) return
  }
}

/** The rows that have the words, each line once. */
export function rowsWith (rows: readonly Row[], words: string): readonly number[] {
  const wanted = words.toLowerCase()
  return rows.flatMap((row, index) => {
    if (row.kind !== 'line' || row.from > 0) return []
    const at = row.line.text.toLowerCase().indexOf(wanted)
    return at === -1 ? [] : [index + Math.floor(at / WIDE)]
  })
}

/** The text of the rows from one to another, without numbers and signs. */
export function textBetween (rows: readonly Row[], first: number, last: number): string {
  const texts: string[] = []
  for (const row of rows.slice(first, last + 1)) {
    if (row.kind !== 'line') continue
    const part = row.line.text.slice(row.from, row.to)
    if (row.from > 0 && texts.length > 0) texts.push(`${texts.pop()}${part}`)
    else texts.push(part)
  }
  return texts.join('\n')
}
