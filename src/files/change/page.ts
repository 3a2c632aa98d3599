import { createSlices } from '../../runtime/slices.ts'
import { sha256, type Mark } from '../workspace-files.ts'
import { diffOf, type ShownDiff } from './diff.ts'
import { type ActionKind } from './step.ts'

/** What is shown of a change at a time: files, and their diffs in UTF-16 units. */
export const MAX_FILES = 500
const MAX_DIFFS = 120_000

/** One path of a change. */
export interface Touched {
  readonly kind: ActionKind
  readonly path: string
  readonly before: Mark
  readonly after: Mark
}

/** A path of a change as people look at it. */
export interface ShownFile extends Touched {
  /** Of the file that comes; of one that goes, of that. 0 for a folder. */
  readonly bytes: number
  readonly diff: string
  /** The diff is not all of it: both texts have to be looked at. */
  readonly isCut?: true
  /** What was there is there no more, so that there is no diff. */
  readonly isOutdated?: true
}

/** A part of what a change touches. */
export interface Page {
  readonly files: readonly ShownFile[]
  /** How many come after these. */
  readonly more: number
}

/** Gives the bytes of a file of a change, `undefined` where nobody has them any more. */
export type ContentOf = (path: string, sha256: string) => Promise<Buffer | undefined>

/**
 * Shows a part of a change.
 * @param after how many paths come before the part
 * @param limit the most paths; a part other than the last may have fewer
 */
export async function pageOf (touched: readonly Touched[], contentOf: ContentOf, after = 0, limit = MAX_FILES): Promise<Page> {
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

async function shownFile ({ kind, path, before, after }: Touched, contentOf: ContentOf): Promise<ShownFile> {
  const touched = { kind, path, before, after }
  if (before === 'folder' || after === 'folder') return { ...touched, bytes: 0, diff: '' }
  const [old, young] = [before === null ? null : await contentOf(path, before), after === null ? null : await contentOf(path, after)]
  const bytes = (young ?? old)?.length ?? 0
  if (old === undefined || young === undefined) return { ...touched, bytes, diff: '', isOutdated: true }
  const { diff, isCut } = differenceOf(path, old, young)
  return { ...touched, bytes, diff, ...(isCut ? { isCut } : {}) }
}

function differenceOf (path: string, old: Buffer | null, young: Buffer | null): ShownDiff {
  const binary = [old, young].find(content => content?.includes(0) === true)
  if (binary !== undefined && binary !== null) return { diff: `(${binary.length} bytes that are no text, SHA-256 ${sha256(binary)})\n`, isCut: false }
  return diffOf(path, old?.toString(), young?.toString())
}
