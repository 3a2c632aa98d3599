/** A reply of a skill's model, read as a command, a question, a message or the end; `UNKNOWN` for an empty one. */
export type SkillReply =
  | { readonly type: 'CMD', readonly content: string, readonly command: string, /** The model did not say that it is a command. */ readonly fallback?: true }
  | { readonly type: 'ASK', readonly content: string, readonly question: string, readonly required: boolean }
  | { readonly type: 'MESSAGE' | 'DONE', readonly content: string, readonly message: string }
  | { readonly type: 'UNKNOWN', readonly error: string }

/** A reply of a skill's model that could be read. */
export type ReadableReply = Exclude<SkillReply, { readonly type: 'UNKNOWN' }>

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
 * Reads a reply of a skill's model. The first line of a reply without a tag counts as a command, marked with `fallback` so that it never
 * runs without a person's approval. Never throws.
 */
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

/** The command in a text: its first line, or a whole fenced code block, in which a command may span several lines. */
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
