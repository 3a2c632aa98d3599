/** The two halves of a `.prompt` file, each with the offset at which it stands there. */
export interface SplitFile {
  /** The YAML between the lines of dashes; `''` where there are none. */
  readonly head: string
  readonly headAt: number
  /** The template, without white space around it where there is a head. */
  readonly body: string
  readonly bodyAt: number
}

/** Comments of a licence, and empty lines, may stand above the head. The pattern is Dotprompt's own, of its version 1.1.2. */
const HEAD_AND_BODY = /^(?:(?:#[^\n]*|[ \t]*)\n)*---\s*(?:\r\n|\r|\n)([\s\S]*?)(?:\r\n|\r|\n)---\s*(?:(?:\r\n|\r|\n)([\s\S]*))?$/d

/** Parts the YAML at the beginning of a `.prompt` file from its template. A file without it is all template. */
export function splitFile (text: string): SplitFile {
  const match = HEAD_AND_BODY.exec(text)
  const [headAt] = match?.indices?.[1] ?? []
  if (match === null || headAt === undefined) return { head: '', headAt: 0, body: text, bodyAt: 0 }
  const [, head = '', body = ''] = match
  const bodyAt = match.indices?.[2]?.[0] ?? text.length
  return { head, headAt, body: body.trim(), bodyAt: bodyAt + body.length - body.trimStart().length }
}
