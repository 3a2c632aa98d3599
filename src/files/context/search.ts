import { join } from 'node:path'
import { createSlices } from '../../runtime/slices.ts'
import { FileRefusal } from '../file-refusal.ts'
import { type WorkspaceFiles } from '../workspace-files.ts'
import { GLOB_EXPECTED, globOf } from './glob.ts'
import { readPlainSync } from './read-plain-sync.ts'
import { walk } from './walk.ts'

/** The largest number of hits of one search. */
const MAX_HITS = 50

/** The largest file that is searched and the longest line that a hit shows, in bytes, and the longest query, in UTF-16 units. */
const MAX_BYTES = 1024 * 1024
const MAX_LINE = 300
const MAX_QUERY = 500

const LINE_END = 0x0a

/** A hit of a search: a line that has the text searched for. */
export interface Hit {
  readonly path: string
  /** The number of the line, from 1. */
  readonly line: number
  readonly text: string
}

/**
 * Searches the files of a workspace for a literal text, until `signal` aborts.
 * @param glob pattern of the files to search; by default all are searched
 * @returns the hits; `isTruncated` when there are perhaps more
 * @throws FileRefusal for a query or a glob that is not allowed
 */
export async function search (
  files: WorkspaceFiles,
  query: string,
  glob: string | undefined,
  signal: AbortSignal
): Promise<{ readonly hits: Hit[]; readonly isTruncated: boolean }> {
  if (query === '' || query.length > MAX_QUERY || /[\r\n]/.test(query)) {
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `a query is one line of at most ${MAX_QUERY} characters`)
  }
  const isWanted = glob === undefined ? () => true : globOf(glob)
  if (isWanted === undefined) throw new FileRefusal('ERR_SCHEMA_VALIDATION', GLOB_EXPECTED)
  const { root, hidden } = await files.roots()
  const bytes = Buffer.from(query)
  const scratch = Buffer.allocUnsafe(MAX_BYTES)
  const hits: Hit[] = []
  const slices = createSlices()
  for (const found of walk(root, path => hidden.includes(join(root, path)))) {
    const content = found !== undefined && isWanted(found.path) ? readPlainSync(found.at, MAX_BYTES, scratch) : undefined
    if (content !== undefined) for (const { line, text } of linesWith(content, bytes)) hits.push({ path: found?.path ?? '', line, text })
    if (hits.length > MAX_HITS || signal.aborted) return { hits: hits.slice(0, MAX_HITS), isTruncated: true }
    if (slices.isDue()) await slices.pause()
  }
  return { hits, isTruncated: false }
}

/** Yields the lines of a file's content that have the query, each line once. */
function * linesWith (content: Buffer, query: Buffer): Generator<{ readonly line: number, readonly text: string }> {
  let at = content.indexOf(query)
  // A file with a NUL byte is taken for binary, and not searched.
  if (at < 0 || content.includes(0)) return
  for (let line = 1, start = 0, count = 0; at >= 0 && count <= MAX_HITS; at = content.indexOf(query, start), count++) {
    for (let end = content.indexOf(LINE_END, start); end >= 0 && end < at; end = content.indexOf(LINE_END, start)) {
      start = end + 1
      line++
    }
    const end = content.indexOf(LINE_END, at)
    // If the text is far from the beginning of a long line, the part of the line around the text is shown.
    const from = at - start > MAX_LINE / 2 ? at - MAX_LINE / 2 : start
    yield { line, text: content.subarray(from, end < 0 ? content.length : end).subarray(0, MAX_LINE).toString().trimEnd() }
    if (end < 0) return
    start = end + 1
    line++
  }
}
