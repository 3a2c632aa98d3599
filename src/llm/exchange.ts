import { type IncomingHttpHeaders } from 'node:http'
import { type Dispatcher } from 'undici'
import { type ModelTimeouts } from './model-client.ts'
import { transportError, UpstreamError } from './upstream-error.ts'

/** One HTTP request to an upstream. */
export interface UpstreamRequest {
  readonly dispatcher: Dispatcher
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The JSON text to POST. */
  readonly body: string
  readonly timeouts: ModelTimeouts
  /** Aborts the exchange; its reason becomes the failure. */
  readonly signal: AbortSignal
}

export interface ReplyHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** What becomes of an exchange. Exactly one of `end` and `fail` is called, last. */
export interface ReplyReceiver {
  /** @throws UpstreamError to give the reply up */
  head (head: ReplyHead, exchange: Exchange): void
  /** Takes a piece of the body; `false` asks to wait for `Exchange.resume`. @throws UpstreamError to give the reply up */
  data (chunk: Buffer): boolean
  end (): void
  /** @param error an UpstreamError, or the reason of the signal */
  fail (error: unknown): void
}

/**
 * One POST and its reply, on undici's dispatch: the cheapest of its interfaces, and the only one that hands every piece
 * on in the turn of the event loop in which it arrives. Undici's own timeouts are off: they cannot tell the first byte
 * of a body from the next one.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #receiver: ReplyReceiver
  readonly #abortBySignal = () => this.abort(this.#request.signal.reason)
  #controller: Dispatcher.DispatchController | undefined
  #watchdog: NodeJS.Timeout
  #bodyBegun = false
  #paused = false
  #over = false

  constructor (request: UpstreamRequest, receiver: ReplyReceiver) {
    this.#request = request
    this.#receiver = receiver
    const { dispatcher, path, headers, body, signal, timeouts } = request
    this.#watchdog = setTimeout(() => this.#giveUp(`no byte of a reply within ${timeouts.firstByte} ms`), timeouts.firstByte)
    signal.addEventListener('abort', this.#abortBySignal, { once: true })
    if (signal.aborted) this.abort(signal.reason)
    else dispatcher.dispatch({ method: 'POST', path, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this)
  }

  /** Ends the exchange now: its socket is closed, and the receiver fails with `reason`. */
  abort (reason: unknown): void {
    if (this.#over) return
    this.#settle()
    this.#controller?.abort(reason instanceof Error ? reason : new Error('aborted'))
    this.#receiver.fail(reason)
  }

  /** Goes on after `data` has returned `false`. */
  resume (): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#watchdog.refresh()
    this.#controller?.resume()
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Aborted while it waited for a connection: nothing may be sent.
    if (this.#over) controller.abort(new Error('aborted'))
  }

  onResponseStart (_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#guard(() => this.#receiver.head({ status, headers }, this))
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    if (this.#bodyBegun) this.#watchdog.refresh()
    else this.#beginBody()
    this.#guard(() => {
      if (this.#receiver.data(chunk) || this.#over) return
      this.#paused = true
      controller.pause()
    })
  }

  onResponseEnd (): void {
    if (this.#over) return
    this.#settle()
    this.#receiver.end()
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    this.#settle()
    this.#receiver.fail(transportError(error))
  }

  #beginBody (): void {
    const { idle } = this.#request.timeouts
    this.#bodyBegun = true
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(() => {
      // A reader that is slow is not an upstream that stalls.
      if (this.#paused) this.#watchdog.refresh()
      else this.#giveUp(`the reply stalled for ${idle} ms`)
    }, idle)
  }

  #giveUp (reason: string): void {
    this.abort(new UpstreamError(reason, { retryable: true }))
  }

  #guard (step: () => void): void {
    try {
      step()
    } catch (error) {
      this.abort(error)
    }
  }

  #settle (): void {
    this.#over = true
    clearTimeout(this.#watchdog)
    this.#request.signal.removeEventListener('abort', this.#abortBySignal)
  }
}
