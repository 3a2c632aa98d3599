import { untilAborted } from '../../runtime/until-aborted.ts'
import { ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/** A request over streamable HTTP and what comes back: one reply, or several streams of which each resumes the last. */
export class McpExchange {
  /** The event that a stream would be resumed after. */
  lastEvent: string | undefined
  /** Aborted when nothing is waited for any more. */
  readonly signal: AbortSignal
  readonly #over = new AbortController()
  #isStream = false
  /** Why there is no answer, should nothing follow what has come. */
  #loss: ToolError | undefined
  #isAnswered = false
  #answer = () => {}
  readonly #answered = new Promise<void>(resolve => { this.#answer = resolve })

  /** @param cancelled aborted by whoever waits for the answer */
  constructor (cancelled: AbortSignal | undefined) {
    this.signal = cancelled === undefined ? this.#over.signal : AbortSignal.any([this.#over.signal, cancelled])
  }

  /** Tells that the answer has come. */
  answer (): void {
    this.#isAnswered = true
    this.#answer()
  }

  /** Tells that nothing more comes. */
  end (): void {
    if (!this.#isAnswered) this.#over.abort(this.#loss ?? new ToolError('REPLY_INVALID', 'ended its reply without an answer'))
  }

  /** Tells that nobody waits any more. */
  cancel (): void {
    this.#over.abort()
  }

  /**
   * Waits for the answer to a request that is sent. A reply that is no stream has been read by then.
   * @throws ToolError when it will not come
   */
  async wait (): Promise<void> {
    if (!this.#isStream) this.end()
    await untilAborted(this.signal, this.#answered)
  }

  /** The same stream; how it ends tells why the answer is missing, should it be. What is too large is not resumed. */
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
