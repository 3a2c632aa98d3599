import { type JsonObject } from '../base/json.ts'

/**
 * What logs, metrics and traces want to know of one request. The activity is handed to everything that works for the request.
 * Each piece of work begins itself here and tells how it ended. Rooms below `observe` know no more of metrics and traces than
 * this.
 */
export interface Activity {
  /**
   * @param revision of the prompt; `undefined` when none is registered under that id
   * @param version of the prompt, if it is one @param label that it was asked for by, if any
   */
  beginRender (prompt: string, revision: string | undefined, version?: number, label?: string): RenderWatch
  beginToolCall (tool: { readonly id: string, readonly name: string }): ToolWatch
  /** @param provider its name in the configuration. @param request the body that it is sent */
  beginModelCall (operation: ModelOperation, provider: string, request: JsonObject): ModelWatch
}

/** What a model is asked for, in the words of OpenTelemetry's conventions. */
export type ModelOperation = 'chat' | 'embeddings'

/** How a piece of work ended: `ok`, or a word or stable code for what went wrong. Never a text from outside. */
export type Outcome = string

/** A render that has begun. */
export interface RenderWatch {
  /** @param passes over the template; `undefined` when it failed */
  ended (outcome: Outcome, passes?: number): void
}

/** A call that has begun. */
export interface CallWatch {
  /** W3C trace context to send with it (https://www.w3.org/TR/trace-context/); `undefined` when there is none. */
  readonly traceparent: string | undefined
}

export interface ToolWatch extends CallWatch {
  /** @param code why it failed */
  ended (outcome: 'ok' | 'cached' | 'failed', code?: string): void
}

/** Exactly one of `replied`, `streamed` and `failed` is called, last. */
export interface ModelWatch extends CallWatch {
  /**
   * An attempt failed, and another one is made.
   * @param retry the number of the new attempt, from 1
   * @param status of the upstream's answer, if it gave one
   */
  retried (retry: number, status: number | undefined): void
  /** The first event of a stream is there. */
  begun (): void
  /** @param reply as the upstream sent it */
  replied (reply: JsonObject): void
  streamed (end: StreamFacts): void
  failed (outcome: Outcome): void
}

/** What is known of a stream that had begun. */
export interface StreamFacts {
  readonly outcome: 'complete' | 'failed' | 'left'
  /** The model as the upstream names it. */
  readonly model?: string
  /** The usage that the upstream sends. Most upstreams send none unless `stream_options.include_usage` asks for it. */
  readonly usage?: JsonObject
  /** What the model has written as UTF-8: an estimate of tokens needs it when there is no `usage`. */
  readonly bytes: number
}
