import { type Json, type JsonObject } from '../base/json.ts'
import { type PreparationState } from './call/preparation.ts'

/** The connection to one registered tool, made when the tool is registered. There is an implementation for each protocol. */
export interface Connector {
  /**
   * Makes one attempt to call the tool. Timeouts, retries and defaults are the business of the calling code. The attempt ends soon after its signal
   * aborts.
   * @throws ToolError
   */
  call (values: JsonObject, attempt: Attempt): Promise<Reply>
  /** Settles when the first attempt to prepare for calls has ended, with or without success. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Ends the connections and processes that the tool holds open. */
  close (): Promise<void>
}

/** The bounds of one attempt to call a tool, and the ids to send with it. */
export interface Attempt {
  /** The signal that ends the attempt; it aborts with a `ToolError`. */
  readonly signal: AbortSignal
  /** The time that is left, in ms, for protocols that tell it to the server; `undefined` when it is not known. */
  readonly timeLeft: number | undefined
  /** The id and the trace context of the HTTP request for which the call is made. The tool is told both where the protocol allows that. */
  readonly requestId: string
  readonly traceparent: string | undefined
}

/** The headers, or metadata, by which a tool's own logs and traces can be matched to the request. */
export function identify ({ requestId, traceparent }: Attempt): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) }
}

/** The answer of a tool. */
export interface Reply {
  readonly value: Json
  /** The secrets that were sent with the call. They must not appear in the value. */
  readonly secrets: readonly string[]
}
