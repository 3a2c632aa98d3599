/** A reply of a skill's model, read as a command, a question, a message or the end; `UNKNOWN` for an empty one, `UNCLEAR` for no whole command. */
export type SkillReply =
  | { readonly type: 'CMD', readonly content: string, readonly command: string, /** The model did not say that it is a command. */ readonly fallback?: true }
  | { readonly type: 'ASK', readonly content: string, readonly question: string, readonly required: boolean }
  | { readonly type: 'MESSAGE' | 'DONE', readonly content: string, readonly message: string }
  | { readonly type: 'UNKNOWN', readonly error: string }
  | { readonly type: 'UNCLEAR', readonly problem: string }

/** A reply of a skill's model that could be read. */
export type ReadableReply = Exclude<SkillReply, { readonly type: 'UNKNOWN' | 'UNCLEAR' }>

/** The tag that says what a reply is, such as `[CMD]`. It only counts at the very beginning: further down it may be a quotation. */
const TAG = /^\[(CMD|ASK:optional|ASK|MESSAGE|DONE)\]/i

/** A text that is one fenced (Markdown) code block and nothing else. */
const FENCED = /^```[^\n`]*\n([^]*?)\n?```$/

const INVALID: SkillReply = { type: 'UNKNOWN', error: 'Empty or invalid AI response' }

/** Whether a model's reply begins with a tag that names its kind, such as `[CMD]`. */
export function beginsWithTag (reply: string): boolean {
  return TAG.test(unfenced(reply.trim()))
}

/**
 * Reads a reply of a skill's model. A reply without a tag counts as a command, marked with `fallback` so that it never runs without a person's
 * approval. Never throws.
 * @param isOfOld whether the session is of an earlier version, which took the first line for the whole command: its log must be read as it was
 */
export function parseSkillResponse (reply: string, isOfOld = false): SkillReply {
  const content = unfenced(reply.trim())
  const [tag = '', name = ''] = TAG.exec(content) ?? []
  const text = content.slice(tag.length).trim()
  const commandOf = isOfOld ? firstLine : wholeCommand
  switch (name.toUpperCase()) {
    case 'CMD': return commandOf(text)
    case 'ASK': return text === '' ? INVALID : { type: 'ASK', content, question: text, required: true }
    case 'ASK:OPTIONAL': return text === '' ? INVALID : { type: 'ASK', content, question: text, required: false }
    case 'MESSAGE': return { type: 'MESSAGE', content, message: text }
    case 'DONE': return { type: 'DONE', content, message: text === '' ? 'Skill completed' : text }
    default: {
      const reading = commandOf(content)
      return reading.type === 'CMD' ? { ...reading, fallback: true } : reading
    }
  }
}

function firstLine (text: string): SkillReply {
  const inside = unfenced(text)
  const end = text.indexOf('\n')
  return proposed((inside !== text || end < 0 ? inside : text.slice(0, end)).replace(/^`([^`]+)`$/, '$1').trim())
}

/** The command in a text: a fenced code block, or the whole text where it is one command, which may have several lines. */
function wholeCommand (text: string): SkillReply {
  const inside = withoutFence(text)
  if (inside !== text) return proposed(inside)
  const problem = text.startsWith('```') ? 'a fenced block has no end, or more than one begins' : problemWith(text)
  return problem === undefined ? proposed(text) : { type: 'UNCLEAR', problem }
}

function proposed (command: string): SkillReply {
  return command === '' ? INVALID : { type: 'CMD', content: `[CMD] ${command}`, command }
}

/** A command without the fence or the backquotes that Markdown puts around it; what is explained behind the fence is no part of it. */
export function withoutFence (text: string): string {
  const [, fenced] = /^```[^\n`]*\n([^]*?)\n?```(?=\s|$)/.exec(text) ?? []
  if (fenced !== undefined && text.lastIndexOf('```') === text.indexOf('```', 3)) return fenced.trim()
  return text.replace(/^`([^`\n]+)`$/, '$1').trim()
}

function unfenced (text: string): string {
  return (FENCED.exec(text)?.[1] ?? text).trim()
}

/** The parts of a command line that say where it ends: escapes, quotes, comments, here-strings, here-documents and line ends. A quote alone is open. */
const PARTS = /\\[^]?|'[^']*'|"(?:[^"\\]|\\[^])*"|`[^`]*`|['"`]|(?<![^\s;&|(])#[^\n]*|<<<|<<(?<dash>-?)[ \t]*(?:'(?<quoted>[^'\n]+)'|"(?<double>[^"\n]+)"|\\?(?<bare>[\w.-]+))|\n/g

/**
 * Why a text of one or several lines is not surely one command, in words; `undefined` where it is. A shell goes on in the next line behind `\`,
 * `&&`, `||` and `|`, in quotes and in a here-document. Takes linear time.
 */
function problemWith (text: string): string | undefined {
  const parts = new RegExp(PARTS)
  let heredocs: Heredoc[] = []
  for (let part = parts.exec(text); part !== null; part = parts.exec(text)) {
    const [found] = part
    const { dash, quoted, double, bare } = part.groups ?? {}
    const end = quoted ?? double ?? bare
    if (found === '\\') return 'its last line ends in \\'
    if (/^['"`]$/.test(found)) return `the quote ${found} has no end`
    if (end !== undefined) heredocs.push({ end, isIndented: dash === '-' })
    if (found !== '\n') continue
    const behind = endOf(heredocs, text, part.index)
    if (typeof behind === 'string') return behind
    if (text.slice(behind).trim() === '') return undefined
    if (heredocs.length > 0 || !GOES_ON.test(text.slice(Math.max(0, behind - 20), behind))) return 'more lines follow where the command has ended'
    heredocs = []
  }
  return heredocs.length > 0 ? missing(heredocs[0]) : GOES_ON.test(text.slice(-20)) ? 'its last line ends in && or |' : undefined
}

/** A line that goes on in the next one. */
const GOES_ON = /(?:&&|\||\|&)[ \t]*$/

interface Heredoc { readonly end: string, readonly isIndented: boolean }

function missing (heredoc: Heredoc | undefined): string {
  return `the here-document has no line "${heredoc?.end ?? ''}" at its end`
}

/** The index behind here-documents whose text begins behind `at`, the end of a line; what is missing, in words. */
function endOf (heredocs: readonly Heredoc[], text: string, at: number): number | string {
  let behind = at
  for (const heredoc of heredocs) {
    behind = lineAt(text, behind + 1, line => (heredoc.isIndented ? line.replace(/^\t+/, '') : line) === heredoc.end)
    if (behind < 0) return missing(heredoc)
  }
  return behind
}

/** The index of the end of the first line, from an index on, that fits; -1 without one. */
function lineAt (text: string, from: number, fits: (line: string) => boolean): number {
  for (let start = from; start <= text.length;) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    if (fits(text.slice(start, end))) return end
    start = end + 1
  }
  return -1
}
