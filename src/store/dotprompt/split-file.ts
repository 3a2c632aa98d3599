/** The two halves of a `.prompt` file (its YAML and its template), each with its offset in the file. */
export interface SplitFile {
  /** The YAML between the lines of dashes; `''` where there are none. */
  readonly head: string
  readonly headAt: number
  /** The template. White space around it is removed when there is YAML above it. */
  readonly body: string
  readonly bodyAt: number
}

/** A line of a text, without its end, and its offsets in the text. */
interface Line { readonly text: string, readonly at: number, readonly end: number }

/**
 * Splits a `.prompt` file into the YAML at its beginning and the template. Comments of a licence, and empty lines, can stand above the YAML; a file
 * without YAML is all template. The file is read line by line, because the regular expression that Dotprompt itself uses takes minutes for a hostile
 * file.
 */
export function splitFile (text: string): SplitFile {
  const lines = linesOf(text)
  let opening: Line | undefined
  for (const line of lines) {
    if (isDashes(line)) {
      opening = line
      break
    }
    if (!/^(?:#|[ \t]*$)/.test(line.text)) break
  }
  const closing = opening === undefined ? undefined : firstDashes(text, opening.end)
  if (opening === undefined || closing === undefined) return { head: '', headAt: 0, body: text, bodyAt: 0 }
  const body = text.slice(closing.end)
  return {
    head: text.slice(opening.end, closing.at).replace(/\r?\n$/, ''),
    headAt: opening.end,
    body: body.trim(),
    bodyAt: closing.end + body.length - body.trimStart().length
  }
}

function firstDashes (text: string, from: number): Line | undefined {
  for (const line of linesOf(text, from)) if (isDashes(line)) return line
  return undefined
}

function isDashes ({ text }: Line): boolean {
  return text.startsWith('---') && text.slice(3).trim() === ''
}

function * linesOf (text: string, from = 0): Generator<Line> {
  for (let at = from; at < text.length;) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline + 1
    yield { text: text.slice(at, end).replace(/\r?\n?$/, ''), at, end }
    at = end
  }
}
