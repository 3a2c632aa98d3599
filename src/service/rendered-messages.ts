import { partInvalid, type PartProblem, type TextName } from '../base/errors.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Prompt } from '../registry/generation.ts'
import { isOwnText, isTemplate, mapTexts, type PromptDefinition, type StoredMessage, whyUnfit } from '../registry/kinds/prompt-definition.ts'
import type { OutputSpan, TracedCall } from '../template/provenance.ts'
import type { Trace } from '../template/trace.ts'
import type { ChosenPrompt } from './choose-prompt.ts'

export type RenderedMessage = JsonObject & { readonly role: string, readonly content?: Json }

/** The caller's messages stay unchanged; an empty text part is left out. @throws PART_INVALID with every part that no model could take */
export function assembleMessages (prompt: Prompt, texts: readonly string[], history: readonly JsonObject[]): readonly RenderedMessage[] {
  const { messages } = prompt.entry.definition
  if (history.length > 0 || texts.length !== messages.length) return assemble(prompt, texts, history)
  const rendered: RenderedMessage[] = []
  // The fast way: in nearly all prompts, each message is a plain text.
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
      // An empty text rather than an empty list, which most providers refuse.
      rendered.push({ ...rest, role, content: left.length === 0 ? '' : left })
    }
  }
  if (problems.length > 0) throw partInvalid(id, problems)
  return isPlaced ? rendered : [...rendered, ...said]
}

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

export interface Explanation {
  readonly prompt: string
  readonly version?: number
  readonly label?: string
  /** From 0 to below 100, from the request's key, else random; left out if the label has one version. */
  readonly bucket?: number
  /** As in `GET /api/prompts/{id}`. */
  readonly revision: string
  readonly passes: ReadonlyArray<{ readonly durationMs: number }>
  readonly calls: readonly TracedCall[]
  /** Functions whose calls failed, so that a default, or nothing, is in the output. */
  readonly toolDefaults: readonly string[]
  readonly messages: readonly ExplainedMessage[]
}

export interface MessageSpan extends OutputSpan, Pick<TextName, 'part' | 'member'> {}

export interface ExplainedMessage {
  readonly role?: string
  readonly placeholder?: 'history'
  /** Joined, they are the content or, if that is a list, the text of each part and member. */
  readonly spans: readonly MessageSpan[]
}

export function explain (trace: Trace, { prompt, version, label, bucket }: ChosenPrompt, toolDefaults: readonly string[]): Explanation {
  return {
    prompt: prompt.id,
    revision: prompt.revision,
    version,
    label,
    bucket,
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
    spans[message]?.push(...part === undefined ? found : found.map(span => ({ ...span, part, member })))
  })
  return messages.map((message, index) => message.kind === 'history'
    ? { placeholder: 'history', spans: [] }
    : { role: message.role, spans: spans[index] ?? [] })
}
