import { type TextName } from '../../base/errors.ts'
import { type PromptDefinition } from '../../registry/kinds/prompt/prompt-definition.ts'
import { type ChosenPrompt } from '../versions/choose-prompt.ts'
import { type Span, type TracedCall } from '../../template/explain/origin.ts'
import { type Trace } from '../../template/explain/trace.ts'

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
