import { beginningOf, utf8In } from '../../base/text.ts'
import { FileRefusal } from '../file-refusal.ts'
import { normalisePath } from '../path-rules.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'

/** How many lines are read from a file: by default, and at most. */
const DEFAULT_LINES = 200
const MAX_LINES = 5000

/** A range of lines of a file, as a model is given it. */
export interface Range {
  /** The path as the model asked for it, normalised. */
  readonly path: string
  readonly startLine: number
  readonly endLine: number
  readonly totalLines: number
  readonly text: string
  /** What the lines do not show, and a change of the file keeps, in words: the byte order mark, line ends, permissions. Left out for a usual file. */
  readonly form?: string
  /** The SHA-256 of the whole file. A later update of the file is refused when the file has changed since. */
  readonly sha256: string
}

/**
 * Reads a range of lines of a text file for a model.
 * @param start number of the first line, from 1
 * @param end number of the last line, included. By default `DEFAULT_LINES` lines are read, or `MAX_LINES` when `most` is given
 * @param most largest length of the text, in UTF-16 units; a longer text is cut, with a mark. By default the length has no limit
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
  const { bytes, stats } = await files.read(await files.resolve(named))
  const normal = normalisePath(named)
  const path = 'path' in normal ? normal.path : named
  if (bytes.includes(0)) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no text`)
  const whole = bytes.toString()
  const form = formOf(whole, utf8In(bytes) !== undefined, (stats.mode & 0o111) !== 0)
  const lines = whole.replace(/^\ufeff/, '').split('\n')
  // The text after the last line end is no line when it is empty.
  if (lines.at(-1) === '') lines.pop()
  const first = Math.max(1, start)
  const chosen = lines.slice(first - 1, Math.min(end, first + MAX_LINES - 1))
  return {
    path,
    startLine: first,
    endLine: first + chosen.length - 1,
    totalLines: lines.length,
    text: beginningWithMark(chosen.join('\n'), most),
    ...(form === '' ? {} : { form }),
    sha256: sha256(bytes)
  }
}

function formOf (text: string, isUtf8: boolean, isExecutable: boolean): string {
  const [ends, returns] = [text.match(/\n/g)?.length ?? 0, text.match(/\r\n/g)?.length ?? 0]
  return [
    ...isUtf8 ? [] : ['not UTF-8, so it cannot be changed'],
    ...text.startsWith('\ufeff') ? ['begins with a byte order mark'] : [],
    ...returns === 0 ? [] : [returns === ends ? 'line ends are CRLF' : `${returns} of ${ends} line ends are CRLF`],
    ...isExecutable ? ['executable'] : []
  ].join('; ')
}

function beginningWithMark (text: string, most = Infinity): string {
  if (text.length <= most) return text
  const beginning = beginningOf(text, most)
  return `${beginning}\n...[TRUNCATED ${text.length - beginning.length} chars]...`
}
