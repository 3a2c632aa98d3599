import { type Prompt } from '../registry/generation.ts'
import { type ToolCall } from '../template/run.ts'
import { type Span, type TracedCall } from '../template/trace/origin.ts'
import { type Trace } from '../template/trace/trace.ts'
import { type ToolOutcome } from '../tool/outcome.ts'

/** How the messages of a render came about. */
export interface Explanation {
  readonly prompt: string
  /** The prompt's, as `GET /api/prompts/{id}` has it. */
  readonly revision: string
  readonly passes: ReadonlyArray<{ readonly durationMs: number }>
  /** The calls of tools, to which sources refer by index. */
  readonly calls: readonly TracedCall[]
  /** Joined, the spans of a message are its content. */
  readonly messages: ReadonlyArray<{ readonly role: string, readonly spans: readonly Span[] }>
}

/** Arguments whose JSON is longer are left out, in UTF-16 units. */
const MAX_ARGUMENTS = 16 * 1024

/** Notes what became of a call. */
export function traceCall (trace: Trace, call: ToolCall, { outcome, durationMs, error }: ToolOutcome): void {
  const isShort = call.key.length <= MAX_ARGUMENTS
  trace.answered(call, {
    ...(isShort ? { arguments: call.arguments } : {}),
    outcome,
    durationMs: rounded(durationMs),
    ...(error === undefined ? {} : { error: error.code })
  })
}

/** The explanation of a render that is over. */
export function explain (trace: Trace, { id, revision }: Prompt, messages: ReadonlyArray<{ readonly role: string }>): Explanation {
  return {
    prompt: id,
    revision,
    passes: trace.passes.map(milliseconds => ({ durationMs: rounded(milliseconds) })),
    calls: trace.calls,
    messages: messages.map(({ role }, index) => ({ role, spans: trace.texts[index] ?? [] }))
  }
}

/** To a microsecond. */
function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
