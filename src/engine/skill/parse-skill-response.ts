/** A reply of the model, read as one of the five formats. */
export type SkillReply =
  | { readonly type: 'CMD', readonly content: string, readonly command: string, /** The model did not say that it is a command. */ readonly fallback?: true }
  | { readonly type: 'ASK', readonly content: string, readonly question: string, readonly required: boolean }
  | { readonly type: 'MESSAGE' | 'DONE', readonly content: string, readonly message: string }
  | { readonly type: 'UNKNOWN', readonly error: string }

/** A reply that has one of the formats. */
export type ReadableReply = Exclude<SkillReply, { readonly type: 'UNKNOWN' }>

/** The tag of a reply. It counts only at the very beginning: a tag that is quoted further down is text. */
const TAG = /^\[(CMD|ASK:optional|ASK|MESSAGE|DONE)\]/i

/** A text that is one fenced block and nothing else. */
const FENCED = /^```[^\n`]*\n([^]*?)\n?```$/

const INVALID: SkillReply = { type: 'UNKNOWN', error: 'Empty or invalid AI response' }

/** Whether a reply says by a tag what it is. */
export function beginsWithTag (reply: string): boolean {
  return TAG.test(unfenced(reply.trim()))
}

/** Reads a reply. One without a tag counts as a command, its first line, that nobody may run unasked. Never throws. */
export function parseSkillResponse (reply: string): SkillReply {
  const content = unfenced(reply.trim())
  const [tag = '', name = ''] = TAG.exec(content) ?? []
  const text = content.slice(tag.length).trim()
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

/** The command in a text: its first line, or all of a fenced block, in which a command may span lines. */
function commandOf (text: string): SkillReply {
  const inside = unfenced(text)
  const command = (inside === text ? firstLine(text) : inside).replace(/^`([^`]+)`$/, '$1').trim()
  return command === '' ? INVALID : { type: 'CMD', content: `[CMD] ${command}`, command }
}

function firstLine (text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : text.slice(0, end)
}

function unfenced (text: string): string {
  return (FENCED.exec(text)?.[1] ?? text).trim()
}
