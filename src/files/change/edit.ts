import { FileRefusal } from '../file-refusal.ts'
import { closestLines } from './closest-lines.ts'

/** An edit of a file: a piece of its text, and the text that replaces it. */
export interface Edit {
  readonly search: string
  readonly replace: string
}

/** The most edits of one file, and the longest `search` or `replace` of an edit, in UTF-16 units. */
export const MAX_EDITS = 100
export const MAX_EDIT_TEXT = 20_000

/** The most line numbers that the error message names when a search text occurs more than once. */
const MAX_NAMED = 10

/** The place in a file's text where an edit applies, in UTF-16 units. */
interface Match {
  readonly start: number
  readonly end: number
}

/**
 * Applies edits to a file's text. All are located in the original text, so their order does not matter. Each `search` has to occur
 * exactly once, every character counts, but `\n` also matches `\r\n`; a replacement gets the line ends of its place. Nothing is guessed,
 * so a model never changes the wrong lines.
 * @param path the path for messages
 * @throws FileRefusal ERR_EDIT_NOT_FOUND with the closest lines, ERR_EDIT_AMBIGUOUS with the lines, ERR_EDIT_OVERLAP
 */
export function applyEdits (text: string, edits: readonly Edit[], path: string): string {
  const found = edits
    .map(({ search }, index) => ({ index, ...onlyMatch(text, search, `${JSON.stringify(path)}, edits[${index}]`) }))
    .sort((a, b) => a.start - b.start)
  let [result, end] = ['', 0]
  for (const [place, { index, ...match }] of found.entries()) {
    if (match.start < end) {
      throw new FileRefusal(
        'ERR_EDIT_OVERLAP',
        `${JSON.stringify(path)}: edits[${index}] overlaps edits[${found[place - 1]?.index}]; make one edit of both`
      )
    }
    result += text.slice(end, match.start) + withLineEndsOf(text, match, edits[index]?.replace ?? '')
    end = match.end
  }
  return result + text.slice(end)
}

function onlyMatch (text: string, search: string, place: string): Match {
  const [match, ...others] = matchesOf(text, search)
  if (match === undefined) {
    throw new FileRefusal('ERR_EDIT_NOT_FOUND', `${place}: "search" is not in the file, where every character counts. ${closestLines(text, search)}`)
  }
  if (others.length === 0) return match
  const lines = [match, ...others].slice(0, MAX_NAMED).map(({ start }) => lineAt(text, start)).join(', ')
  throw new FileRefusal(
    'ERR_EDIT_AMBIGUOUS',
    `${place}: "search" occurs ${others.length + 1} times, at the lines ${lines}${others.length >= MAX_NAMED ? ' and more' : ''}; write more of the lines around the one that is meant`
  )
}

/** Finds all places where a text occurs in another, overlapping ones too. `\n` in the text also matches `\r\n`. */
function matchesOf (text: string, search: string): Match[] {
  const [first = '', ...rest] = search.split('\n')
  const matches: Match[] = []
  for (let start = text.indexOf(first); start !== -1 && start < text.length; start = text.indexOf(first, start + 1)) {
    // A search text that begins with a line end has matched at the `\r` of `\r\n` already.
    if (first === '' && text[start] === '\n' && text[start - 1] === '\r') continue
    const end = endOfMatch(text, start + first.length, rest)
    if (end !== undefined) matches.push({ start, end })
  }
  return matches
}

/**
 * The end of the place where a search text occurs, whose first line was found already.
 * @param from index in `text` behind that first line
 * @param lines further lines of the search text
 * @returns `undefined` when these lines do not follow at `from`
 */
function endOfMatch (text: string, from: number, lines: readonly string[]): number | undefined {
  let end = from
  for (const line of lines) {
    const breakLength = text.startsWith('\n', end) ? 1 : text.startsWith('\r\n', end) ? 2 : undefined
    if (breakLength === undefined || !text.startsWith(line, end + breakLength)) return undefined
    end += breakLength + line.length
  }
  return end
}

function withLineEndsOf (text: string, { start, end }: Match, replacement: string): string {
  const matched = text.slice(start, end)
  const model = matched.includes('\n') ? matched : text
  return model[model.indexOf('\n') - 1] === '\r' ? replacement.replace(/\r?\n/g, '\r\n') : replacement
}

function lineAt (text: string, place: number): number {
  return text.slice(0, place).split('\n').length
}
