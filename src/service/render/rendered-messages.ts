import { partInvalid, type PartProblem, type TextName } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type Prompt } from '../../registry/generation/generation.ts'
import { type StoredMessage } from '../../registry/kinds/prompt/stored-messages.ts'
import { isOwnText, isTemplate, mapTexts, whyUnfit } from '../../registry/kinds/prompt/message-parts.ts'

/** A message of a rendered prompt, or one that the caller has sent. */
export type RenderedMessage = JsonObject & { readonly role: string, readonly content?: Json }

/**
 * Puts the rendered texts of a prompt into its messages, and adds the caller's messages: at the place that the prompt has for them, else at
 * the end. The caller's messages stay unchanged. A text part that is empty after rendering is left out.
 * @param texts the rendered texts, one for each of the prompt's texts
 * @throws PART_INVALID with every part that no model could take
 */
export function assembleMessages (prompt: Prompt, texts: readonly string[], history: readonly JsonObject[]): readonly RenderedMessage[] {
  const { messages } = prompt.entry.definition
  if (history.length > 0 || texts.length !== messages.length) return assemble(prompt, texts, history)
  const rendered: RenderedMessage[] = []
  // In nearly all prompts, each message is a plain text: this is the fast way for them.
  for (let index = 0; index < texts.length; index++) {
    const message = messages[index] as StoredMessage
    if (message.kind !== 'text') return assemble(prompt, texts, history)
    rendered.push({ ...message.rest, role: message.role, content: texts[index] as string })
  }
  return rendered
}

function assemble ({ id, entry: { definition: { messages } } }: Prompt, texts: readonly string[], history: readonly JsonObject[]): readonly RenderedMessage[] {
  const said = history as readonly RenderedMessage[]
  const rendered: RenderedMessage[] = []
  const problems: PartProblem[] = []
  let next = 0
  let isPlaced = false
  for (const [index, message] of messages.entries()) {
    if (message.kind === 'text') {
      rendered.push({ ...message.rest, role: message.role, content: texts[next++] as string })
    } else if (message.kind === 'history') {
      rendered.push(...said)
      isPlaced = true
    } else {
      const { role, rest, parts } = message
      const at = messages.length > 1 ? { messageIndex: index } : {}
      const filled = parts.map((part, number) => fillPart(part, () => texts[next++] as string, { ...at, part: number }, problems))
      const left = filled.filter(part => part['type'] !== 'text' || part['text'] !== '')
      // The content is an empty text rather than an empty list, which most providers refuse.
      rendered.push({ ...rest, role, content: left.length === 0 ? '' : left })
    }
  }
  if (problems.length > 0) throw partInvalid(id, problems)
  return isPlaced ? rendered : [...rendered, ...said]
}

/** The reply to a render: the text, if the prompt is a single text and no other messages were sent, else the messages. */
export function promptOrMessages (prompt: Prompt, messages: readonly RenderedMessage[]): string | readonly RenderedMessage[] {
  return prompt.entry.definition.form === 'text' && messages.length === 1 ? messages[0]?.content as string : messages
}

function fillPart (part: JsonObject, nextText: () => string, where: TextName, problems: PartProblem[]): JsonObject {
  return mapTexts(part, (source, member) => {
    const text = isTemplate(part, source, member) ? nextText() : source
    const reason = whyUnfit(part, text, member)
    if (reason !== undefined) problems.push({ ...where, ...(isOwnText(part, member) ? {} : { member }), reason })
    return text
  })
}
