import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
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

interface ShownFile extends Touched {
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

/** A page can have fewer paths than `limit`, since the total length of its diffs is limited too. */
export async function pageOf (touched: readonly Touched[], contentOf: ReadContent, after = 0, limit = MAX_FILES): Promise<Page> {
  const files: ShownFile[] = []
  const slices = createSlices()
  let length = 0
  for (const each of touched.slice(after, after + Math.min(limit, MAX_FILES))) {
    if (length >= MAX_DIFFS) break
    const file = await shownFile(each, contentOf)
    length += file.diff.length
    files.push(file)
    if (slices.isDue()) await slices.pause()
  }
  return { files, more: Math.max(0, touched.length - after - files.length) }
}

async function shownFile ({ kind, path, before, after }: Touched, contentOf: ReadContent): Promise<ShownFile> {
  const touched = { kind, path, before, after }
  if (before === 'folder' || after === 'folder') return { ...touched, bytes: 0, diff: '' }
  const [old, young] = [before === null ? null : await contentOf(path, before), after === null ? null : await contentOf(path, after)]
  const bytes = (young ?? old)?.length ?? 0
  if (old === undefined || young === undefined) return { ...touched, bytes, diff: '', isOutdated: true }
  const { diff, isCut } = differenceOf(path, old, young)
  return { ...touched, bytes, diff, isCut: isCut ? true : undefined }
}

function differenceOf (path: string, old: Buffer | null, young: Buffer | null): ShownDiff {
  const binary = [old, young].find(content => content !== null && (content.includes(0) || utf8In(content) === undefined))
  if (binary !== undefined && binary !== null) return { diff: `(${binary.length} bytes that are no text, SHA-256 ${sha256(binary)})\n`, isCut: false }
  return diffOf(path, old?.toString(), young?.toString())
}

/** In differing lines, in ms, and a shown diff in UTF-16 units. */
const MAX_EDITS = 2000
const TIMEOUT_MS = 15
const MAX_DIFF = 20_000

const NOTHING = '/dev/null'

interface ShownDiff {
  readonly diff: string
  readonly isCut: boolean
}

/** A long diff is cut, with a mark. `before` is `undefined` for a new file, `after` for a deleted one. */
function diffOf (path: string, before: string | undefined, after: string | undefined): ShownDiff {
  const names = [before === undefined ? NOTHING : `a/${path}`, after === undefined ? NOTHING : `b/${path}`] as const
  if (before === undefined || after === undefined) return cut(wholeFile(names, before ?? after ?? '', before === undefined ? '+' : '-'))
  const patch = createTwoFilesPatch(...names, before, after, undefined, undefined, {
    context: 3,
    maxEditLength: MAX_EDITS,
    timeout: TIMEOUT_MS,
    headerOptions: FILE_HEADERS_ONLY
  })
  if (patch !== undefined) return cut(patch)
  return { diff: `--- ${names[0]}\n+++ ${names[1]}\n(${countLines(before)} lines become ${countLines(after)}; too many differ to be shown)\n`, isCut: true }
}

function wholeFile ([from, to]: readonly [string, string], text: string, sign: '+' | '-'): string {
  const count = countLines(text)
  const range = count === 0 ? '0,0' : `1,${count}`
  const [minus, plus] = sign === '-' ? [range, '0,0'] : ['0,0', range]
  const lines = text.split('\n').slice(0, count).map(line => `${sign}${line}\n`)
  const end = text === '' || text.endsWith('\n') ? '' : '\\ No newline at end of file\n'
  return `--- ${from}\n+++ ${to}\n@@ -${minus} +${plus} @@\n${lines.join('')}${end}`
}

function cut (diff: string): ShownDiff {
  if (diff.length <= MAX_DIFF) return { diff, isCut: false }
  // A single line may be longer than the largest diff; then no line is shown.
  const end = diff.lastIndexOf('\n', MAX_DIFF) + 1
  return { diff: `${diff.slice(0, end)}...[TRUNCATED ${diff.length - end} chars]...\n`, isCut: true }
}

function countLines (text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
