import { type Json, type JsonObject } from '../template/value.ts'

/** How one registered tool is reached: one variant a protocol, made when the tool is registered. */
export interface Connector {
  /**
   * Makes one attempt. Timeouts, retries and fallbacks are not its business; it ends soon after the signal is aborted.
   * @throws ToolError
   */
  call (values: JsonObject, signal: AbortSignal): Promise<Reply>
  /** Lets go of what the tool holds open; calls that still come may fail. */
  close (): Promise<void>
}

/** What a tool answered. */
export interface Reply {
  readonly value: Json
  /** The secrets that went out with the call, which must not come back in its value. */
  readonly secrets: readonly string[]
}
