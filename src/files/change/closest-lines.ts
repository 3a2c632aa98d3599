import { distance } from 'fastest-levenshtein'

/** Windows of a file that a search is compared with, and UTF-16 units of each that are. */
const MAX_WINDOWS = 2000
const MAX_COMPARED = 400

/** UTF-16 units of the closest lines that are shown. */
const MAX_SHOWN = 2000

/** Where a text that was not found may have been meant, with line numbers, in words: a model that is told no more gives up. */
export function closestLines (text: string, search: string): string {
  const lines = text.split(/\r?\n/)
  const height = Math.min(search.trimEnd().split('\n').length, lines.length)
  const step = Math.ceil((lines.length - height + 1) / MAX_WINDOWS)
  const wanted = search.slice(0, MAX_COMPARED)
  let closest = { line: 0, distance: Infinity }
  for (let line = 0; line + height <= lines.length; line += step) {
    const apart = distance(wanted, lines.slice(line, line + height).join('\n').slice(0, MAX_COMPARED))
    if (apart < closest.distance) closest = { line, distance: apart }
  }
  const shown = lines.slice(closest.line, closest.line + height).join('\n').slice(0, MAX_SHOWN)
  return `The closest lines are ${closest.line + 1} to ${closest.line + height}:\n${shown}`
}
