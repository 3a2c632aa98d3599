import { untilAborted } from '../../runtime/until-aborted.ts'
import { ToolError } from '../call/tool-error.ts'
import { unreachable } from '../unreachable.ts'

/**
 * An exchange is a request over streamable HTTP with its reply: a single body, or several streams, each of which continues where the previous
 * one stopped.
 */
export class McpExchange {
  /** The id of the last event of the reply's stream that has arrived. A new stream can continue with the event after it. */
  lastEvent: string | undefined
  /** Aborts when the reply is no longer waited for. */
  readonly signal: AbortSignal
  readonly #over = new AbortController()
  #isStream = false
  /** The error with which the reply's last stream ended, if any. It is reported when the reply ends without the answer. */
  #loss: ToolError | undefined
  #isAnswered = false
  #answer = () => {}
  readonly #answered = new Promise<void>(resolve => { this.#answer = resolve })

  /** Creates the exchange of a request that is about to be sent. @param cancelled aborts when the caller no longer waits for the answer */
  constructor (cancelled: AbortSignal | undefined) {
    this.signal = cancelled === undefined ? this.#over.signal : AbortSignal.any([this.#over.signal, cancelled])
  }

  /** Records that the answer to the request (its JSON-RPC response) has arrived. */
  answer (): void {
    this.#isAnswered = true
    this.#answer()
  }

  /** Records that the reply has ended. If the answer to the request has not arrived, `wait` fails. */
  end (): void {
    if (!this.#isAnswered) this.#over.abort(this.#loss ?? new ToolError('REPLY_INVALID', 'ended its reply without an answer'))
  }

  /** Records that nobody waits for the answer any more. */
  cancel (): void {
    this.#over.abort()
  }

  /**
   * Waits for the answer to the request. It is called after the request was sent, when a reply that is not a stream has been read completely.
   * @throws ToolError when the reply ended without the answer
   */
  async wait (): Promise<void> {
    if (!this.#isStream) this.end()
    await untilAborted(this.signal, this.#answered)
  }

  /**
   * Passes a stream of the reply on unchanged, and remembers its error in case the answer does not arrive. A reply that is too large ends
   * the exchange at once, so that no new stream continues it.
   */
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
