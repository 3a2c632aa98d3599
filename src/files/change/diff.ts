import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** The limits of a comparison, in differing lines and in ms, and the largest length of a shown diff, in UTF-16 units. */
const MAX_EDITS = 2000
const TIMEOUT_MS = 15
const MAX_DIFF = 20_000

/** The name in a diff for a file that does not exist. */
const NOTHING = '/dev/null'

/** A diff as it is shown to a person. */
export interface ShownDiff {
  readonly diff: string
  /** Whether the diff was cut, or left out because too much differs. */
  readonly isCut: boolean
}

/**
 * Makes the unified diff of a file. A long diff is cut, with a mark. When too many lines differ, the diff only says how many lines both texts have.
 * @param before the old text; `undefined` for a new file
 * @param after the new text; `undefined` for a deleted file
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

/** Makes the diff of a file that is created or deleted, which needs no comparison. */
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
