import { untilAborted } from '../../runtime/until-aborted.ts'
import { ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** A request to an MCP server over streamable HTTP, and its reply: one body, or several streams of which each resumes the last. */
export class McpExchange {
  /** The id of the last event, after which a stream would be resumed. */
  lastEvent: string | undefined
  /** The signal that aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  readonly #over = new AbortController()
  #isStream = false
  /** The reason why there is no answer, if nothing follows what has come so far. */
  #loss: ToolError | undefined
  #isAnswered = false
  #answer = () => {}
  readonly #answered = new Promise<void>(resolve => { this.#answer = resolve })

  /** @param cancelled the signal that aborts when the one who waits for the answer leaves */
  constructor (cancelled: AbortSignal | undefined) {
    this.signal = cancelled === undefined ? this.#over.signal : AbortSignal.any([this.#over.signal, cancelled])
  }

  /** Notes that the answer has come. */
  answer (): void {
    this.#isAnswered = true
    this.#answer()
  }

  /** Notes that the reply has ended. */
  end (): void {
    if (!this.#isAnswered) this.#over.abort(this.#loss ?? new ToolError('REPLY_INVALID', 'ended its reply without an answer'))
  }

  /** Notes that nobody waits for the answer any more. */
  cancel (): void {
    this.#over.abort()
  }

  /** Waits for the answer to a request. A reply that is no stream has been read by then. @throws ToolError when the answer will not come */
  async wait (): Promise<void> {
    if (!this.#isStream) this.end()
    await untilAborted(this.signal, this.#answered)
  }

  /** Passes a stream on unchanged, and notes how it ends, which explains a missing answer. A stream that is too large is not resumed. */
  watch (stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    this.#isStream = true
    this.#loss = undefined
    return this.#pass(stream)
  }

  async * #pass (stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield * stream
    } catch (error) {
      this.#loss = unreachable(error)
      if (this.#loss.code === 'REPLY_TOO_LARGE') this.end()
      throw error
    }
  }
}
