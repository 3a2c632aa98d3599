import { type IncomingHttpHeaders } from 'node:http'
import { type JsonObject } from '../template/value.ts'

/** Talks to models in the format of OpenAI's API. Variants: an HTTP API, `builtin:echo`, and a router over several. */
export interface ModelClient {
  /**
   * Makes a chat completion. Unknown fields of the request pass through.
   * @throws UpstreamRefusal for a 4xx that concerns the caller; LLM_UPSTREAM, LLM_AUTH, LLM_BUSY, MODEL_NOT_FOUND; the
   * signal's reason when the caller has left
   */
  complete (request: ModelRequest, options: CallOptions): Promise<ModelReply>
  /** Ends connections, within a bounded time. */
  close (): Promise<void>
}

/** The body of a chat completion request; `model` may be left out. */
export type ModelRequest = JsonObject

/** Who calls, and for how long. */
export interface CallOptions {
  /** Aborts when nobody waits any more: the upstream call is aborted at once and never retried. */
  readonly signal: AbortSignal
  /** Sent to the upstream as `x-request-id`, and logged. */
  readonly requestId: string
}

/** A whole reply of the model. */
export interface ModelReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The reply as the upstream sent it, byte for byte. */
  readonly body: Buffer
  /** The same, parsed for reading: numbers are doubles, so answer with `body`. */
  readonly value: JsonObject
}

/** How long a call may take, in ms. */
export interface ModelTimeouts {
  /** Until the connection stands. */
  readonly connect: number
  /** From the request to the first byte of the reply's body. */
  readonly firstByte: number
  /** Between two pieces of the reply. */
  readonly idle: number
  /** Over all attempts and waits, up to the last byte. */
  readonly total: number
}

export const DEFAULT_TIMEOUTS: ModelTimeouts = { connect: 5000, firstByte: 120_000, idle: 60_000, total: 600_000 }

/** Replies above this size are refused, in bytes. */
export const DEFAULT_MAX_REPLY_BYTES = 32 * 1024 * 1024

/** The one method of a logger that this room uses, as pino has it. */
export interface ModelLog {
  warn (facts: object, message: string): void
}
