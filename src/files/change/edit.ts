import { FileRefusal } from '../file-refusal.ts'
import { closestLines } from './closest-lines.ts'

/** A piece of a file's text, and what comes in its place. */
export interface Edit {
  readonly search: string
  readonly replace: string
}

/** Edits of one file, and UTF-16 units of each text in them. */
export const MAX_EDITS = 100
export const MAX_EDIT_TEXT = 20_000

/** Line numbers that a refusal names. */
const MAX_NAMED = 10

/** Where an edit was found, in UTF-16 units. */
interface Match {
  readonly start: number
  readonly end: number
}

/**
 * The text after all edits. All are found in the text as it was given, so their order means nothing. Every character of a `search` counts,
 * but `\n` also fits `\r\n`; a replacement gets the line ends of its place. No guess decides what is written.
 * @param path for the words of a refusal
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

/** All places where a text occurs, also those that overlap. */
function matchesOf (text: string, search: string): Match[] {
  const [first = '', ...rest] = search.split('\n')
  const matches: Match[] = []
  for (let start = text.indexOf(first); start !== -1 && start < text.length; start = text.indexOf(first, start + 1)) {
    // A search that begins with a line end has found `\r\n` from its first character already.
    if (first === '' && text[start] === '\n' && text[start - 1] === '\r') continue
    const end = endOfMatch(text, start + first.length, rest)
    if (end !== undefined) matches.push({ start, end })
  }
  return matches
}

/** Where the lines that follow end, if they are there. */
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
