import { type Json, type JsonObject } from '../base/json.ts'
import { type PreparationState } from './call/preparation.ts'

/** A connector reaches one registered tool over its protocol (HTTP, gRPC or MCP). It is made when the tool is registered. */
export interface Connector {
  /**
   * Makes one attempt to call the tool. Timeouts, retries and fallbacks are the caller's job. The attempt ends soon after its signal is
   * aborted.
   * @throws ToolError
   */
  call (values: JsonObject, attempt: Attempt): Promise<Reply>
  /** Settles when the first attempt to prepare for calls (such as connecting) has succeeded or failed. */
  readonly attempted: Promise<void>
  state (): PreparationState
  /** Closes what the connector has opened, such as connections. */
  close (): Promise<void>
}

/** One attempt to call a tool: its limits, and the HTTP request that led to it. */
export interface Attempt {
  /** Ends the attempt when it is aborted. The reason is a `ToolError`. */
  readonly signal: AbortSignal
  /** The time that remains for the attempt, in ms. The connector sends it to the tool's server if the protocol can. `undefined` for no deadline. */
  readonly timeLeft: number | undefined
  /** The id and the trace context of the HTTP request to this service that led to the call. The tool receives both if its protocol can carry them. */
  readonly requestId: string
  readonly traceparent: string | undefined
  /** Names the call: equal for every attempt, so that a tool that changes things can tell that it was asked before. */
  readonly idempotencyKey: string
}

/** Makes the headers, or gRPC metadata, by which a tool's own logs and traces can be matched with the request to this service. */
export function identify ({ requestId, traceparent }: Attempt): Readonly<Record<string, string>> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) }
}

/** The reply of a tool to one attempt. */
export interface Reply {
  readonly value: Json
  /** The secrets that were sent with the call. They are removed from the value, in case the tool repeats them. */
  readonly secrets: readonly string[]
}
