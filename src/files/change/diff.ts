import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** What a comparison may take, in lines that differ and in ms, and how long a shown difference may be, in UTF-16 units. */
const MAX_EDITS = 2000
const TIMEOUT_MS = 15
const MAX_DIFF = 20_000

/** What stands for a file that is not there. */
const NOTHING = '/dev/null'

/** A difference as it is shown. */
export interface ShownDiff {
  readonly diff: string
  /** Whether it is less than all of it. */
  readonly isCut: boolean
}

/**
 * A unified diff of a file. A long diff is cut, and says so. Where too much differs, only the amount is said.
 * @param before `undefined` where the file does not exist; likewise `after`
 */
export function diffOf (path: string, before: string | undefined, after: string | undefined): ShownDiff {
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

/** A file that comes or goes needs no comparing. */
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
  // A line may be longer than all that is shown.
  const end = diff.lastIndexOf('\n', MAX_DIFF) + 1
  return { diff: `${diff.slice(0, end)}...[TRUNCATED ${diff.length - end} chars]...\n`, isCut: true }
}

function countLines (text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
