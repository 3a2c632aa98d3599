import { distance } from 'fastest-levenshtein'

/** The most places in a file that are compared with a search text, and the longest part that is compared at each place, in UTF-16 units. */
const MAX_WINDOWS = 2000
const MAX_COMPARED = 400

/** The largest length of the closest lines in a message, in UTF-16 units. */
const MAX_SHOWN = 2000

/** Shows the lines of a file that are most similar to `search`. The model, whose `search` was not found in the file, can then correct its edit. */
export function closestLines (text: string, search: string): string {
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

/** The beginning of some lines, as far as it is compared. */
function beginningAt (lines: readonly string[], first: number, height: number): string {
  let text = ''
  for (let line = first; line < first + height && text.length <= MAX_COMPARED; line++) text += `${lines[line]?.slice(0, MAX_COMPARED)}\n`
  return text.slice(0, Math.min(text.length - 1, MAX_COMPARED))
}
