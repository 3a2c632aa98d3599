import { FileRefusal } from '../file-refusal.ts'
import { normalisePath } from '../path-rules.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'

/** P-26: how many lines are read when nobody says to which, and at most. */
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

/** Reads lines of a text file. @param start from 1 @param end included @throws FileRefusal */
export async function readRange (files: WorkspaceFiles, named: string, start = 1, end = start + DEFAULT_LINES - 1): Promise<Range> {
  const { bytes } = await files.read(await files.resolve(named))
  const normal = normalisePath(named)
  const path = 'path' in normal ? normal.path : named
  if (bytes.includes(0)) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no text`)
  const lines = bytes.toString().split('\n')
  // What ends with a line end has no further line.
  if (lines.at(-1) === '') lines.pop()
  const first = Math.max(1, start)
  const chosen = lines.slice(first - 1, Math.min(end, first + MAX_LINES - 1))
  return { path, startLine: first, endLine: first + chosen.length - 1, totalLines: lines.length, text: chosen.join('\n'), sha256: sha256(bytes) }
}
