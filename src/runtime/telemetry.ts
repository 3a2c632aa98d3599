import type { JsonObject } from '../base/json.ts'

/**
 * The observer of one request: logs, metrics and traces learn from it what is done for the request. It is handed to all code that works for the
 * request. Each piece of work reports its beginning here, gets a watch, and reports its end to the watch. The code below `src/observe` turns these
 * reports into metrics and traces; the code that reports knows nothing of them.
 */
export interface Activity {
  /**
   * Reports that a render begins.
   * @param revision the hash of the prompt's content; `undefined` when no prompt is registered under that id
   * @param version the number of the version, when an older version of the prompt is rendered
   * @param label the label by which the prompt was asked for, if any
   */
  beginRender (prompt: string, revision: string | undefined, version?: number, label?: string): RenderWatch
  beginToolCall (tool: { readonly id: string, readonly name: string }): ToolWatch
  /** Reports that a call of a model begins. @param provider the name of the model's API in the configuration @param request the body that is sent */
  beginModelCall (operation: ModelOperation, provider: string, request: JsonObject): ModelWatch
}

/** The kinds of calls of a model, in the words of OpenTelemetry's conventions. */
export type ModelOperation = 'chat' | 'embeddings'

/** How a piece of work ended: `ok`, or a word or stable code for what went wrong. It is never a text from outside, because it becomes a label of metrics. */
export type WorkOutcome = string

/** Receives the report of how a render ended. `beginRender` returns it. */
export interface RenderWatch {
  /** Reports the end of the render. @param passes how often the template was run; `undefined` when the render failed */
  ended (outcome: WorkOutcome, passes?: number): void
}

/** What `Activity` returns for a call of a tool or a model that begins. The caller later reports to it how the call ended. */
export interface CallWatch {
  /** The W3C trace context to send with the call (https://www.w3.org/TR/trace-context/); `undefined` when there is none. */
  readonly traceparent: string | undefined
}

export interface ToolWatch extends CallWatch {
  /** Reports the end of the call. @param code why it failed */
  ended (outcome: 'ok' | 'cached' | 'failed', code?: string): void
}

/** Receives the reports about one call of a model. The last report is exactly one of `replied`, `streamed` and `failed`. */
export interface ModelWatch extends CallWatch {
  /**
   * Reports that an attempt has failed, and that another one is made.
   * @param retry the number of the new attempt, from 1
   * @param status the HTTP status of the API's answer, if it gave one
   */
  retried (retry: number, status: number | undefined): void
  /** Reports that the first event of the model's streamed answer has arrived. */
  begun (): void
  /** Reports an answer that came as a whole. @param reply as the API sent it */
  replied (reply: JsonObject): void
  streamed (end: StreamFacts): void
  failed (outcome: WorkOutcome): void
}

/** The facts about a streamed answer that are known at its end. */
export interface StreamFacts {
  readonly outcome: 'complete' | 'failed' | 'left'
  /** The name of the model, as the API gives it. */
  readonly model?: string
  /** The numbers of tokens, as the API gives them. Most APIs send none unless `stream_options.include_usage` asks for it. */
  readonly usage?: JsonObject
  /** The length of the model's answer, in bytes of UTF-8. The tokens are estimated by it when there is no `usage`. */
  readonly bytes: number
}

/** The functions of a pino logger that the code uses; fields come before the message, so that lines can be searched by field. */
export interface Log {
  debug (fields: object, message: string): void
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}
