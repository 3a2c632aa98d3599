import { type TextName } from '../../base/errors.ts'
import { type PromptDefinition } from '../../registry/kinds/prompt/prompt-definition.ts'
import { type ChosenPrompt } from '../versions/choose-prompt.ts'
import { type Span, type TracedCall } from '../../template/explain/origin.ts'
import { type Trace } from '../../template/explain/trace.ts'

/** How the messages of a render came about. */
export interface Explanation {
  readonly prompt: string
  /** The version of the prompt that was rendered; left out when it is no recorded version. */
  readonly version?: number
  readonly label?: string
  /** The place of the request's key between 0 and 100, by which one of the label's versions was chosen; left out when it has only one. */
  readonly bucket?: number
  /** The revision of the prompt, as in `GET /api/prompts/{id}`. */
  readonly revision: string
  readonly passes: ReadonlyArray<{ readonly durationMs: number }>
  /** The calls of tools, to which sources refer by index. */
  readonly calls: readonly TracedCall[]
  /** The functions of tools whose calls failed: their defaults, or nothing, stood in for what they give. */
  readonly toolDefaults: readonly string[]
  /** The messages of the prompt, and the place where the caller's messages go. */
  readonly messages: readonly ExplainedMessage[]
}

/** A piece of a message. */
export interface MessageSpan extends Span, Pick<TextName, 'part' | 'member'> {}

/** A message of a prompt, or the place for the caller's messages, which has no spans and no role. */
export interface ExplainedMessage {
  readonly role?: string
  readonly placeholder?: 'history'
  /** The pieces of the message's content, which is all of them joined. In a message of parts, the spans of one part and member make up its text. */
  readonly spans: readonly MessageSpan[]
}

/** The explanation of a render that is over. */
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
