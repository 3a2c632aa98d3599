/** The two halves of a `.prompt` file, each with the offset at which it stands there. */
export interface SplitFile {
  /** The YAML between the lines of dashes; `''` where there are none. */
  readonly head: string
  readonly headAt: number
  /** The template, without white space around it where there is a head. */
  readonly body: string
  readonly bodyAt: number
}

/** A line of a text, without its end. */
interface Line { readonly text: string, readonly at: number, readonly end: number }

/**
 * Parts the YAML at the beginning of a `.prompt` file from its template. Comments of a licence, and empty lines, may stand above it. A
 * file without it is all template. Line by line: the pattern of Dotprompt itself takes minutes for a hostile file.
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
