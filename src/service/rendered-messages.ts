import { partInvalid, type PartProblem, type TextName } from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Prompt } from '../registry/generation.ts'
import { isOwnText, isTemplate, mapTexts, type PromptDefinition, type StoredMessage, whyUnfit } from '../registry/kinds/prompt-definition.ts'
import type { Span, TracedCall } from '../template/provenance.ts'
import type { Trace } from '../template/trace.ts'
import type { ChosenPrompt } from './choose-prompt.ts'

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

/** The explanation of a rendered prompt: what each piece of its messages was made from. */
export interface Explanation {
  readonly prompt: string
  /** The version of the prompt that was rendered; left out when it is no recorded version. */
  readonly version?: number
  readonly label?: string
  /** The number from 0 to below 100 that chose one of the label's versions: from the request's key, else random. Left out if the label has one version. */
  readonly bucket?: number
  /** The revision of the prompt, as in `GET /api/prompts/{id}`. */
  readonly revision: string
  readonly passes: ReadonlyArray<{ readonly durationMs: number }>
  /** The calls of tools. A span (a piece of a message) names the calls that it was made from by their index in this list. */
  readonly calls: readonly TracedCall[]
  /** The names of the functions whose tool calls failed, so that a default, or nothing, is in the output in place of the result. */
  readonly toolDefaults: readonly string[]
  /** The messages of the prompt, and the place where the caller's messages go. */
  readonly messages: readonly ExplainedMessage[]
}

/** A piece of a message, with its place in the template and what it was made from. */
export interface MessageSpan extends Span, Pick<TextName, 'part' | 'member'> {}

/** A message of a prompt, or the place for the caller's messages, which has no spans and no role. */
export interface ExplainedMessage {
  readonly role?: string
  readonly placeholder?: 'history'
  /** The pieces of the message. Joined, they are its content. If the content is a list of parts, the pieces with one part and member are that part's text. */
  readonly spans: readonly MessageSpan[]
}

/** Makes the explanation of a finished render from its trace. */
export function explain (trace: Trace, { prompt, version, label, bucket }: ChosenPrompt, toolDefaults: readonly string[]): Explanation {
  return {
    prompt: prompt.id,
    revision: prompt.revision,
    ...(version === undefined ? {} : { version }),
    ...(label === undefined ? {} : { label }),
    ...(bucket === undefined ? {} : { bucket }),
    passes: trace.passes.map(durationMs => ({ durationMs })),
    calls: trace.calls,
    toolDefaults,
    messages: explainMessages(prompt.entry.definition, trace.texts)
  }
}

function explainMessages ({ messages, texts }: PromptDefinition, traced: Trace['texts']): ExplainedMessage[] {
  const spans = messages.map((): MessageSpan[] => [])
  texts.forEach(({ message, where: { part, member } = {} }, index) => {
    const found = traced[index] ?? []
    spans[message]?.push(...part === undefined ? found : found.map(span => ({ ...span, part, ...(member === undefined ? {} : { member }) })))
  })
  return messages.map((message, index) => message.kind === 'history'
    ? { placeholder: 'history', spans: [] }
    : { role: message.role, spans: spans[index] ?? [] })
}
