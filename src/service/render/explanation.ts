import { type ChosenPrompt } from '../versions/choose-prompt.ts'
import { type Span, type TracedCall } from '../../template/explain/origin.ts'
import { type Trace } from '../../template/explain/trace.ts'

/** How the messages of a render came about. */
export interface Explanation {
  readonly prompt: string
  /** Which version it is, and of which label; left out where it is none. */
  readonly version?: number
  readonly label?: string
  /** Where the key fell between 0 and 100, where the label has several versions. */
  readonly bucket?: number
  /** The prompt's, as `GET /api/prompts/{id}` has it. */
  readonly revision: string
  readonly passes: ReadonlyArray<{ readonly durationMs: number }>
  /** The calls of tools, to which sources refer by index. */
  readonly calls: readonly TracedCall[]
  /** The functions of tools whose calls failed: their defaults, or nothing, stood in for what they give. */
  readonly toolDefaults: readonly string[]
  /** Joined, the spans of a message are its content. */
  readonly messages: ReadonlyArray<{ readonly role: string, readonly spans: readonly Span[] }>
}

/** The explanation of a render that is over. */
export function explain (trace: Trace, { prompt: { id, revision }, version, label, bucket }: ChosenPrompt, messages: ReadonlyArray<{ readonly role: string }>, toolDefaults: readonly string[]): Explanation {
  return {
    prompt: id,
    revision,
    ...(version === undefined ? {} : { version }),
    ...(label === undefined ? {} : { label }),
    ...(bucket === undefined ? {} : { bucket }),
    passes: trace.passes.map(durationMs => ({ durationMs })),
    calls: trace.calls,
    toolDefaults,
    messages: messages.map(({ role }, index) => ({ role, spans: trace.texts[index] ?? [] }))
  }
}
