import { createTwoFilesPatch, diffArrays, FILE_HEADERS_ONLY } from 'diff'
import { utf8In } from '../../base/text.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { type ContentHash, sha256 } from '../workspace-files.ts'
import type { ActionKind } from './change-rules.ts'

/** The diffs' total length is in UTF-16 units. */
const MAX_FILES = 500
const MAX_DIFFS = 120_000

export interface Touched {
  readonly kind: ActionKind
  readonly path: string
  readonly before: ContentHash
  readonly after: ContentHash
}

export interface ShownFile extends Touched {
  /** In bytes, of the old file for a deletion; 0 for a folder. */
  readonly bytes: number
  readonly diff: string
  readonly isCut?: true
  /** A content is no longer kept, so that there is no diff. */
  readonly isOutdated?: true
}

/** The oldest change first: states before the first of them and after the last. */
export function changedBy (changes: ReadonlyArray<{ readonly steps: readonly Touched[] }>): Touched[] {
  const all = new Map<string, Touched>()
  for (const { kind, path, before: own, after } of changes.flatMap(({ steps }) => steps)) {
    const before = all.has(path) ? all.get(path)?.before ?? null : own
    const isFolder = before === 'folder' || after === 'folder'
    const whole = before === null ? isFolder ? 'CREATE_DIR' : 'CREATE_FILE' : after === null ? isFolder ? 'DELETE_DIR' : 'DELETE_FILE' : kind
    all.set(path, { kind: whole, path, before, after })
  }
  return [...all.values()].filter(({ before, after }) => before !== after)
}

export interface Page {
  readonly files: readonly ShownFile[]
  readonly more: number
}

/** `undefined` when the content is no longer kept. */
export type ReadContent = (path: string, sha256: string) => Promise<Buffer | undefined>

/** A page can have fewer paths than `limit`, since the total length of its diffs is limited too. `most` is the length of each of them. */
export async function pageOf (touched: readonly Touched[], contentOf: ReadContent, after = 0, limit = MAX_FILES, most = MAX_DIFF): Promise<Page> {
  const files: ShownFile[] = []
  const slices = createSlices()
  let length = 0
  for (const each of touched.slice(after, after + Math.min(limit, MAX_FILES))) {
    if (length >= MAX_DIFFS) break
    const file = await shownFile(each, contentOf, most)
    length += file.diff.length
    files.push(file)
    if (slices.isDue()) await slices.pause()
  }
  return { files, more: Math.max(0, touched.length - after - files.length) }
}

async function shownFile ({ kind, path, before, after }: Touched, contentOf: ReadContent, most: number): Promise<ShownFile> {
  const touched = { kind, path, before, after }
  if (before === 'folder' || after === 'folder') return { ...touched, bytes: 0, diff: '' }
  const [old, young] = [before === null ? null : await contentOf(path, before), after === null ? null : await contentOf(path, after)]
  const bytes = (young ?? old)?.length ?? 0
  if (old === undefined || young === undefined) return { ...touched, bytes, diff: '', isOutdated: true }
  const { diff, isCut } = differenceOf(path, old, young, most)
  return { ...touched, bytes, diff, isCut: isCut ? true : undefined }
}

/** `null` for a file that is not there; `most` is in UTF-16 units. */
export function differenceOf (path: string, old: Buffer | null, young: Buffer | null, most: number): ShownDiff {
  const binary = [old, young].find(content => content !== null && (content.includes(0) || utf8In(content) === undefined))
  if (binary !== undefined && binary !== null) return { diff: `(${binary.length} bytes that are no text, SHA-256 ${sha256(binary)})\n`, isCut: false }
  const diff = diffOf(path, old?.toString(), young?.toString())
  return diff.length > most ? cut(diff, most) : { diff, isCut: false }
}

/** In differing lines, and in ms: what a comparison of two whole texts may take, and that of all their parts. */
const MAX_EDITS = 2000
const TIMEOUT_MS = 15
const PARTS_TIMEOUT_MS = 100

/** Of a diff, in UTF-16 units: in a list of files, and of one file alone. */
const MAX_DIFF = 20_000
export const MAX_WHOLE_DIFF = 8 * 1024 * 1024

const NOTHING = '/dev/null'

interface ShownDiff {
  readonly diff: string
  readonly isCut: boolean
}

/** `before` is `undefined` for a new file, `after` for a deleted one. */
function diffOf (path: string, before: string | undefined, after: string | undefined): string {
  const names = [before === undefined ? NOTHING : `a/${path}`, after === undefined ? NOTHING : `b/${path}`] as const
  const [old, young] = [linesOf(before), linesOf(after)]
  if (before === undefined || after === undefined) return patchOf(names, old, young, [{ at: 0, count: old.length, to: 0, added: young.length }])
  const patch = createTwoFilesPatch(...names, before, after, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: MAX_EDITS,
    timeout: TIMEOUT_MS,
    headerOptions: FILE_HEADERS_ONLY
  })
  return patch ?? patchOf(names, old, young, editsOf(old, young))
}

/** A long diff is cut, with a mark. A single line may be longer than the largest diff; then no line is shown. */
function cut (diff: string, most: number): ShownDiff {
  const end = diff.lastIndexOf('\n', most) + 1
  return { diff: `${diff.slice(0, end)}...[TRUNCATED ${diff.length - end} chars]...\n`, isCut: true }
}

/** A last line without a line end differs from the same line with one. */
function linesOf (text = ''): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  const last = lines.pop() as string
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`]
}

/** `count` lines of the old text from `at` on become `added` lines of the new text from `to` on. */
interface Edit {
  readonly at: number
  readonly count: number
  readonly to: number
  readonly added: number
}

/**
 * For texts of which too much differs to be compared as a whole: they are split at the lines that each of them has once, in the same order.
 * A part that still differs too much is replaced.
 */
function editsOf (old: readonly string[], young: readonly string[]): readonly Edit[] {
  const edits: Edit[] = []
  const deadline = Date.now() + PARTS_TIMEOUT_MS
  let [at, to] = [0, 0]
  for (const [i, j] of [...anchorsOf(old, young), [old.length, young.length] as const]) {
    while (at < i && to < j && old[at] === young[to]) [at, to] = [at + 1, to + 1]
    edits.push(...editsBetween(old.slice(at, i), young.slice(to, j), deadline).map(edit => ({ ...edit, at: edit.at + at, to: edit.to + to })))
    ;[at, to] = [i, j]
  }
  return edits
}

function editsBetween (old: string[], young: string[], deadline: number): readonly Edit[] {
  if (old.length + young.length === 0) return []
  const whole = [{ at: 0, count: old.length, to: 0, added: young.length }]
  if (old.length === 0 || young.length === 0) return whole
  const parts = diffArrays(old, young, { maxEditLength: MAX_EDITS, timeout: Math.max(0, deadline - Date.now()) })
  if (parts === undefined) return whole
  const edits: Edit[] = []
  let [at, to] = [0, 0]
  for (const { added, removed, count } of parts) {
    if (added || removed) edits.push({ at, count: removed ? count : 0, to, added: added ? count : 0 })
    if (!added) at += count
    if (!removed) to += count
  }
  return edits
}

/** The longest sequence of lines that both have once, in the same order: a place in the old text and one in the new, each. */
function anchorsOf (old: readonly string[], young: readonly string[]): ReadonlyArray<readonly [number, number]> {
  const places = new Map<string, { readonly at: number, count: number }>()
  for (const [at, line] of young.entries()) {
    const known = places.get(line)
    if (known === undefined) places.set(line, { at, count: 1 })
    else known.count++
  }
  const counts = new Map<string, number>()
  for (const line of old) counts.set(line, (counts.get(line) ?? 0) + 1)
  interface Anchor { readonly i: number, readonly j: number, readonly before: Anchor | undefined }
  // Of the sequences of each length the one that ends first in the new text.
  const ends: Anchor[] = []
  for (const [i, line] of old.entries()) {
    const place = places.get(line)
    if (place?.count !== 1 || counts.get(line) !== 1) continue
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] as Anchor).j < place.at) low = middle + 1
      else high = middle
    }
    ends[low] = { i, j: place.at, before: ends[low - 1] }
  }
  const anchors: Array<readonly [number, number]> = []
  for (let anchor = ends.at(-1); anchor !== undefined; anchor = anchor.before) anchors.push([anchor.i, anchor.j])
  return anchors.reverse()
}

/** Lines around a changed one. */
const CONTEXT = 3

function patchOf ([from, to]: readonly [string, string], old: readonly string[], young: readonly string[], edits: readonly Edit[]): string {
  const out = [`--- ${from}`, `+++ ${to}`]
  for (let first = 0, next = 0; first < edits.length; first = next) {
    const { at, to: start } = edits[first] as Edit
    const before = Math.min(CONTEXT, at)
    const hunk = old.slice(at - before, at).map(line => ` ${line}`)
    let [oldEnd, youngEnd] = [at, start]
    for (next = first; next < edits.length && (edits[next] as Edit).at - oldEnd <= 2 * CONTEXT; next++) {
      const edit = edits[next] as Edit
      for (let line = oldEnd; line < edit.at; line++) hunk.push(` ${old[line]}`)
      oldEnd = edit.at + edit.count
      youngEnd = edit.to + edit.added
      for (let line = edit.at; line < oldEnd; line++) hunk.push(`-${old[line]}`)
      for (let line = edit.to; line < youngEnd; line++) hunk.push(`+${young[line]}`)
    }
    const behind = old.slice(oldEnd, oldEnd + CONTEXT)
    for (const line of behind) hunk.push(` ${line}`)
    out.push(`@@ -${rangeOf(at - before, oldEnd + behind.length)} +${rangeOf(start - before, youngEnd + behind.length)} @@`, ...hunk)
  }
  return `${out.join('\n')}\n`
}

/** Of lines from `start` on, before `end`; of none, the line before them is named. */
function rangeOf (start: number, end: number): string {
  return end === start ? `${start},0` : `${start + 1},${end - start}`
}
