import { beginningOf } from '../../base/text.ts'
import { FileRefusal } from '../file-refusal.ts'
import { normalisePath } from '../path-rules.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'

/** How many lines are read when nobody says up to which, and at most. */
const DEFAULT_LINES = 200
const MAX_LINES = 5000

/** Lines of a file. */
export interface Range {
  /** As it was asked for, in its one form. */
  readonly path: string
  readonly startLine: number
  readonly endLine: number
  readonly totalLines: number
  readonly text: string
  /** Of the whole file. */
  readonly sha256: string
}

/**
 * Reads lines of a text file.
 * @param start from 1
 * @param end included
 * @param most in UTF-16 units; with it all lines are read that fit, and a mark says what is cut @default no bound
 * @throws FileRefusal
 */
export async function readRange (
  files: WorkspaceFiles,
  named: string,
  {
    start = 1,
    most,
    end = start + (most === undefined ? DEFAULT_LINES : MAX_LINES) - 1
  }: { readonly start?: number | undefined; readonly end?: number | undefined; readonly most?: number | undefined } = {}
): Promise<Range> {
  const { bytes } = await files.read(await files.resolve(named))
  const normal = normalisePath(named)
  const path = 'path' in normal ? normal.path : named
  if (bytes.includes(0)) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no text`)
  const lines = bytes.toString().split('\n')
  // What ends with a line end has no further line.
  if (lines.at(-1) === '') lines.pop()
  const first = Math.max(1, start)
  const chosen = lines.slice(first - 1, Math.min(end, first + MAX_LINES - 1))
  return {
    path,
    startLine: first,
    endLine: first + chosen.length - 1,
    totalLines: lines.length,
    text: beginningWithMark(chosen.join('\n'), most),
    sha256: sha256(bytes)
  }
}

function beginningWithMark (text: string, most = Infinity): string {
  if (text.length <= most) return text
  const beginning = beginningOf(text, most)
  return `${beginning}\n...[TRUNCATED ${text.length - beginning.length} chars]...`
}
