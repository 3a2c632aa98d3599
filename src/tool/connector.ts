import { type Json, type JsonObject } from '../base/json.ts'
import { type PreparationState } from './call/preparation.ts'

/** How one registered tool is reached: one variant a protocol, made when the tool is registered. */
export interface Connector {
  /**
   * Makes one attempt. Timeouts, retries and fallbacks belong to the caller of this function. The attempt ends soon after the
   * signal is aborted.
   * @throws ToolError
   */
  call (values: JsonObject, attempt: Attempt): Promise<Reply>
  /** Settles when the first attempt to prepare for calls has, whichever way. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Lets go of what the tool holds open. */
  close (): Promise<void>
}

/** The bounds of one attempt. */
export interface Attempt {
  /** Aborted with a `ToolError`. */
  readonly signal: AbortSignal
  /** In ms, for protocols that tell the server; `undefined`: not known. */
  readonly timeLeft: number | undefined
  /** The id of the HTTP request that asked, and its trace context. Tools are told both where the protocol can. */
  readonly requestId: string
  readonly traceparent: string | undefined
}

/** The headers, or metadata, by which a tool's own logs and traces find the request again. */
export function identify ({ requestId, traceparent }: Attempt): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) }
}

/** What a tool answered. */
export interface Reply {
  readonly value: Json
  /** The secrets that went out with the call, which must not come back in its value. */
  readonly secrets: readonly string[]
}
