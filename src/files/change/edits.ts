import { distance } from 'fastest-levenshtein'
import { FileRefusal } from '../workspace-files.ts'
import type { Edit } from './change-rules.ts'

const MAX_NAMED = 10

/** In UTF-16 units. */
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
  const { matches, count } = matchesOf(text, search)
  const [match] = matches
  if (match === undefined) {
    throw new FileRefusal('ERR_EDIT_NOT_FOUND', `${place}: "search" is not in the file, where every character counts. ${closestLines(text, search)}`)
  }
  if (count === 1) return match
  const lines = matches.map(({ start }) => lineAt(text, start)).join(', ')
  throw new FileRefusal(
    'ERR_EDIT_AMBIGUOUS',
    `${place}: "search" occurs ${count} times, at the lines ${lines}${count > MAX_NAMED ? ' and more' : ''}; write more of the lines around the one that is meant`
  )
}

/** Knuth, Morris and Pratt: linear time, where `indexOf` can try a search text anew at each place. `\n` also matches `\r\n`. */
function matchesOf (text: string, wanted: string): { readonly matches: readonly Match[], readonly count: number } {
  const skipsReturns = !wanted.includes('\r')
  const borders = bordersOf(wanted)
  const places = new Int32Array(wanted.length)
  const matches: Match[] = []
  let count = 0
  for (let [at, seen, length] = [0, 0, 0]; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (skipsReturns && code === RETURN && text.charCodeAt(at + 1) === LINE_FEED) continue
    while (length > 0 && code !== wanted.charCodeAt(length)) length = borders[length - 1] as number
    if (code === wanted.charCodeAt(length)) length++
    places[seen++ % wanted.length] = skipsReturns && code === LINE_FEED && text.charCodeAt(at - 1) === RETURN ? at - 1 : at
    if (length < wanted.length) continue
    if (count++ < MAX_NAMED) matches.push({ start: places[seen % wanted.length] as number, end: at + 1 })
    length = borders[length - 1] as number
  }
  return { matches, count }
}

const [LINE_FEED, RETURN] = [0x0a, 0x0d]

/** By its length less one: the longest shorter beginning with which each beginning ends. */
function bordersOf (text: string): Int32Array {
  const borders = new Int32Array(text.length)
  for (let [at, length] = [1, 0]; at < text.length; at++) {
    while (length > 0 && text.charCodeAt(at) !== text.charCodeAt(length)) length = borders[length - 1] as number
    if (text.charCodeAt(at) === text.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}

function withLineEndsOf (text: string, { start, end }: Match, replacement: string): string {
  const matched = text.slice(start, end)
  const model = matched.includes('\n') ? matched : text
  return model[model.indexOf('\n') - 1] === '\r' ? replacement.replace(/\r?\n/g, '\r\n') : replacement
}

function lineAt (text: string, place: number): number {
  return text.slice(0, place).split('\n').length
}

/** Places compared with a search text; the part compared at each is in UTF-16 units. */
const MAX_WINDOWS = 2000
const MAX_COMPARED = 400

/** In UTF-16 units. */
const MAX_SHOWN = 2000

/** The model can correct its edit by these lines. */
function closestLines (text: string, search: string): string {
  const lines = text.split(/\r?\n/)
  const height = Math.min(search.trimEnd().split('\n').length, lines.length)
  const step = Math.ceil((lines.length - height + 1) / MAX_WINDOWS)
  const wanted = search.slice(0, MAX_COMPARED)
  let closest = { line: 0, distance: Infinity }
  for (let line = 0; line + height <= lines.length; line += step) {
    const apart = distance(wanted, beginningAt(lines, line, height))
    if (apart < closest.distance) closest = { line, distance: apart }
  }
  const shown = lines.slice(closest.line, closest.line + height).join('\n').slice(0, MAX_SHOWN)
  return `The closest lines are ${closest.line + 1} to ${closest.line + height}:\n${shown}`
}

function beginningAt (lines: readonly string[], first: number, height: number): string {
  let text = ''
  for (let line = first; line < first + height && text.length <= MAX_COMPARED; line++) text += `${lines[line]?.slice(0, MAX_COMPARED)}\n`
  return text.slice(0, Math.min(text.length - 1, MAX_COMPARED))
}
