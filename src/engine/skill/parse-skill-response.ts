/** `UNKNOWN` for an empty reply, `UNCLEAR` for no whole command. */
type SkillReply =
  | { readonly type: 'CMD', readonly content: string, readonly command: string, /** The model did not say that it is a command. */ readonly fallback?: true }
  | { readonly type: 'ASK', readonly content: string, readonly question: string, readonly required: boolean }
  | { readonly type: 'MESSAGE' | 'DONE', readonly content: string, readonly message: string }
  | { readonly type: 'UNKNOWN', readonly error: string }
  | { readonly type: 'UNCLEAR', readonly problem: string }

export type ReadableReply = Exclude<SkillReply, { readonly type: 'UNKNOWN' | 'UNCLEAR' }>

/** Only counts at the very beginning: further down it may be a quotation. */
const TAG = /^\[(CMD|ASK:optional|ASK|MESSAGE|DONE)\]/i

const FENCED = /^```[^\n`]*\n([^]*?)\n?```$/

const INVALID: SkillReply = { type: 'UNKNOWN', error: 'Empty or invalid AI response' }

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

/** A fenced block, or the whole text where it is one command, perhaps of several lines. */
function wholeCommand (text: string): SkillReply {
  const inside = withoutFence(text)
  if (inside !== text) return proposed(inside)
  const problem = text.startsWith('```') ? 'a fenced block has no end, or more than one begins' : problemWith(text)
  return problem === undefined ? proposed(text) : { type: 'UNCLEAR', problem }
}

function proposed (command: string): SkillReply {
  return command === '' ? INVALID : { type: 'CMD', content: `[CMD] ${command}`, command }
}

/** What is explained behind the fence is no part of the command. */
export function withoutFence (text: string): string {
  const [, fenced] = /^```[^\n`]*\n([^]*?)\n?```(?=\s|$)/.exec(text) ?? []
  if (fenced !== undefined && text.lastIndexOf('```') === text.indexOf('```', 3)) return fenced.trim()
  return text.replace(/^`([^`\n]+)`$/, '$1').trim()
}

function unfenced (text: string): string {
  return (FENCED.exec(text)?.[1] ?? text).trim()
}

/** What says where a command line ends. A quote alone is open. */
const PARTS = /\\[^]?|'[^']*'|"(?:[^"\\]|\\[^])*"|`[^`]*`|['"`]|(?<![^\s;&|(])#[^\n]*|<<<|<<(?<dash>-?)[ \t]*(?:'(?<quoted>[^'\n]+)'|"(?<double>[^"\n]+)"|\\?(?<bare>[\w.-]+))|\n/g

/** A shell goes on in the next line behind `\`, `&&`, `||` and `|`, in quotes and in a here-document. Linear time. */
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

const GOES_ON = /(?:&&|\||\|&)[ \t]*$/

interface Heredoc { readonly end: string, readonly isIndented: boolean }

function missing (heredoc: Heredoc | undefined): string {
  return `the here-document has no line "${heredoc?.end ?? ''}" at its end`
}

/** @param at the end of a line; a text says what is missing */
function endOf (heredocs: readonly Heredoc[], text: string, at: number): number | string {
  let behind = at
  for (const heredoc of heredocs) {
    behind = lineAt(text, behind + 1, line => (heredoc.isIndented ? line.replace(/^\t+/, '') : line) === heredoc.end)
    if (behind < 0) return missing(heredoc)
  }
  return behind
}

function lineAt (text: string, from: number, fits: (line: string) => boolean): number {
  for (let start = from; start <= text.length;) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    if (fits(text.slice(start, end))) return end
    start = end + 1
  }
  return -1
}
