import type { JsonObject } from '../base/json.ts'

/** Code that works for a request reports here; `src/observe` makes metrics and traces of it, and the reporters know nothing of them. */
export interface Activity {
  /** `revision` is `undefined` when no prompt is registered under that id. */
  beginRender (prompt: string, revision: string | undefined, version?: number, label?: string): RenderWatch
  beginToolCall (tool: { readonly id: string, readonly name: string }): ToolWatch
  beginModelCall (operation: ModelOperation, provider: string, request: JsonObject): ModelWatch
}

/** The kinds of calls of a model, in the words of OpenTelemetry's conventions. */
export type ModelOperation = 'chat' | 'embeddings'

/** `ok`, a word or a stable code; never a text from outside, because it becomes a label of metrics. */
export type WorkOutcome = string

export interface RenderWatch {
  /** `passes`: how often the template was run; `undefined` when the render failed. */
  ended (outcome: WorkOutcome, passes?: number): void
}

interface CallWatch {
  /** The W3C trace context to send with the call (https://www.w3.org/TR/trace-context/); `undefined` when there is none. */
  readonly traceparent: string | undefined
}

export interface ToolWatch extends CallWatch {
  ended (outcome: 'ok' | 'cached' | 'failed', code?: string): void
}

/** The last report is exactly one of `replied`, `streamed` and `failed`. */
export interface ModelWatch extends CallWatch {
  /** `retry` counts new attempts from 1; `status` is the HTTP status of the failed one, if any. */
  retried (retry: number, status: number | undefined): void
  begun (): void
  replied (reply: JsonObject): void
  streamed (end: StreamFacts): void
  failed (outcome: WorkOutcome): void
}

export interface StreamFacts {
  readonly outcome: 'complete' | 'failed' | 'left'
  readonly model?: string
  /** The numbers of tokens, as the API gives them. Most APIs send none unless `stream_options.include_usage` asks for it. */
  readonly usage?: JsonObject
  /** In bytes of UTF-8; tokens are estimated by it when there is no `usage`. */
  readonly bytes: number
}

/** The functions of a pino logger that the code uses; fields come before the message, so that lines can be searched by field. */
export interface Log {
  debug (fields: object, message: string): void
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}
