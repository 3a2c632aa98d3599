import { partInvalid, type PartProblem, type TextName } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type Prompt } from '../../registry/generation/generation.ts'
import { isOwnText, isTemplate, mapTexts, whyUnfit } from '../../registry/kinds/prompt/message-parts.ts'

/** A rendered message of a prompt, or one of its caller's. */
export type RenderedMessage = JsonObject & { readonly role: string, readonly content?: Json }

/**
 * Puts the rendered texts of a prompt into its messages, and those of the caller where the prompt has their place, else behind.
 * The caller's stay as they are. A text part that came out empty is left out.
 * @param texts one for each of the prompt's texts
 * @throws PART_INVALID with everything that no model could take
 */
export function assembleMessages ({ id, entry: { definition } }: Prompt, texts: readonly string[], history: readonly JsonObject[]): readonly RenderedMessage[] {
  const { messages } = definition
  const rendered: RenderedMessage[] = []
  const problems: PartProblem[] = []
  let next = 0
  let isPlaced = history.length === 0
  for (const [index, message] of messages.entries()) {
    if (message.kind === 'text') {
      rendered.push({ ...message.rest, role: message.role, content: texts[next++] as string })
    } else if (message.kind === 'history') {
      rendered.push(...history as readonly RenderedMessage[])
      isPlaced = true
    } else {
      const { role, rest, parts } = message
      const at = messages.length > 1 ? { messageIndex: index } : {}
      const filled = parts.map((part, number) => fillPart(part, () => texts[next++] as string, { ...at, part: number }, problems))
      const left = filled.filter(part => part['type'] !== 'text' || part['text'] !== '')
      // An empty list is refused by most providers, where an empty text is not.
      rendered.push({ ...rest, role, content: left.length === 0 ? '' : left })
    }
  }
  if (problems.length > 0) throw partInvalid(id, problems)
  if (!isPlaced) rendered.push(...history as readonly RenderedMessage[])
  return rendered
}

/** What somebody gets who asks for a rendered prompt: its text, where it is one and nothing was said yet, else its messages. */
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
