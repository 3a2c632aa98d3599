/** @param most code points */
export function clip (text: string, most: number): string {
  if (text.length <= most) return text
  const points = Array.from(text)
  return points.length <= most ? text : `${points.slice(0, most).join('')}…[truncated]`
}

/** Keeps 60 % at the beginning and 40 % at the end, and splits no surrogate pair. @param most UTF-16 units, without the mark */
export function cutMiddle (text: string, most: number): string {
  if (text.length <= most) return text
  const head = atPair(text, Math.floor(most * 0.6))
  const tail = text.length - (most - Math.floor(most * 0.6))
  const from = atPair(text, tail)
  return `${text.slice(0, head)}\n...[TRUNCATED ${from - head} chars]...\n${text.slice(from)}`
}

function atPair (text: string, index: number): number {
  const code = text.charCodeAt(index)
  return index > 0 && code >= 0xDC00 && code <= 0xDFFF ? index + 1 : index
}

/** Colours, cursor movements, window titles (ECMA-48; a title ends with BEL or ST). */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]+[0-~]|[0-~])/g

// eslint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g

/** `user@host:path$` or `C:\path>`. */
const PROMPT = /^(?:[\w.-]+@[\w.-]+:[^\s$#]*[$#]|[A-Za-z]:\\(?:[^<>|"]*[^<>|"=-])?>)[ \t]*/

/**
 * Makes the output of a command readable for a model, and changes nothing else: removes escape sequences and control characters, and the last
 * line break. A carriage return behind a text becomes a line break, since what a terminal overwrites was printed too. Takes linear time.
 * @param typed the command, for an output that a person has copied from a shell: its prompts go, too. Only what is surely one counts: a prompt
 * before the command itself, and one alone in the last line
 */
export function cleanOutputForAI (output: string, typed = ''): string {
  const lines = output.replace(ESCAPES, '').replace(/(^|\n)\r+(?=[^\n])/g, '$1').replace(/\r+\n?/g, '\n').replace(CONTROLS, '')
  const text = lines.endsWith('\n') ? lines.slice(0, -1) : lines
  const said = typed === '' ? text : withoutPrompts(text.split('\n'), typed.trim())
  return said.trim() === '' ? '(no output)' : said
}

function withoutPrompts (lines: string[], command: string): string {
  const [first = '', last = ''] = [lines[0], lines.at(-1)]
  if (first.replace(PROMPT, '').trimEnd() === command) lines.shift()
  if (PROMPT.exec(last)?.[0] === last) lines.pop()
  return lines.join('\n')
}
