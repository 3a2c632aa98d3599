import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/**
 * The members of a message that do not count as further texts of the model: `content` is counted separately, and the others are no texts that the
 * model wrote.
 */
const OTHERS: ReadonlySet<string> = new Set(['content', 'role', 'tool_call_id'])

/** The length of what a model has written in a message, or in a piece of one, in bytes of UTF-8: its texts, and the arguments of its calls. */
export function writtenBytes (message: JsonObject): number {
  const { tool_calls: calls } = message
  return textBytes(message) + (Array.isArray(calls) ? calls.reduce((sum: number, call: Json) => sum + argumentBytes(call), 0) : 0)
}

/**
 * The length of all texts of a message, in bytes. Beside `content` models write their thoughts and refusals, under names that each provider chooses
 * (`reasoning_content`, `reasoning`, `refusal`). A text that comes under two names counts once.
 */
export function textBytes (message: JsonObject): number {
  const { content = null } = message
  let bytes = contentBytes(content)
  // Most pieces of a stream have a content only, so the set is made when it is needed.
  let counted: Set<string> | undefined
  for (const name of Object.keys(message)) {
    const text = message[name]
    if (typeof text !== 'string' || OTHERS.has(name) || counted?.has(text) === true) continue
    bytes += Buffer.byteLength(text)
    counted = (counted ?? new Set()).add(text)
  }
  return bytes
}

/** The length of a message's content, in bytes. The content is a text, or a list of parts, some of which have a text. */
export function contentBytes (content: Json): number {
  if (typeof content === 'string') return Buffer.byteLength(content)
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, part: Json) => {
    const text = isJsonObject(part) ? part['text'] : part
    return sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0)
  }, 0)
}

function argumentBytes (call: Json): number {
  const { function: called = null } = isJsonObject(call) ? call : {}
  const { arguments: text } = isJsonObject(called) ? called : {}
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}
