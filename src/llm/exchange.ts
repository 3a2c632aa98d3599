import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import type { CallerSignal } from '../runtime/deadline.ts'
import { undici } from '../runtime/http-modules.ts'
import type { ModelTimeouts, Tally } from './model-client.ts'
import { transportError, UpstreamError } from './upstream-error.ts'

/** The longest time, in ms, that `close` waits for calls that are running. */
const CLOSE_GRACE = 1000

/**
 * The pool of connections to one model API. Each connection has one call at a time. Undici's own Pool cannot serve here: after an aborted call its
 * client connects once more, for nothing, and that socket stays open (https://github.com/nodejs/undici/issues/5845). So every caller who leaves would
 * leave a socket behind. Here the connection of an aborted call is destroyed.
 */
export class Connections {
  readonly #origin: string
  readonly #connectTimeout: number
  // The class is loaded when the service starts with an API over HTTP, and not in the first call.
  readonly #Client = undici.client()
  // The connection that was released last is acquired first, so that superfluous ones stay idle and time out.
  readonly #idle: Client[] = []
  readonly #busy = new Set<Client>()
  #closing: Promise<void> | undefined
  #allIdle: (() => void) | undefined

  /** @param connectTimeout the longest time until a connection is made, in ms */
  constructor (origin: string, connectTimeout: number) {
    this.#origin = origin
    this.#connectTimeout = connectTimeout
  }

  /** Gives a connection for one call: an idle one, or a new one. @throws UpstreamError when the pool is closed */
  acquire (): Client {
    if (this.#closing !== undefined) throw new UpstreamError('the service is shutting down', { retryable: false })
    const client = this.#idle.pop() ?? this.#open()
    this.#busy.add(client)
    return client
  }

  /** Takes back a connection whose call has ended well. */
  release (client: Client): void {
    if (!this.#busy.delete(client)) return
    if (this.#closing === undefined) this.#idle.push(client)
    this.#resolveIfIdle()
  }

  /** Ends a connection, together with the call that runs on it. */
  destroy (client: Client): void {
    this.#busy.delete(client)
    client.destroy().catch(() => {})
    this.#resolveIfIdle()
  }

  /** Waits for the running calls, for a bounded time, then ends all connections. */
  close (): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  #open (): Client {
    const client = new this.#Client(this.#origin, { connect: { timeout: this.#connectTimeout } })
    client.on('disconnect', () => {
      const index = this.#idle.lastIndexOf(client)
      if (index !== -1) this.#idle.splice(index, 1)
    })
    return client
  }

  async #closeAll (): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(client => client.destroy()))
    if (this.#busy.size === 0) return
    const end = new Promise<void>(resolve => { this.#allIdle = resolve })
    const grace = setTimeout(() => this.#allIdle?.(), CLOSE_GRACE)
    await end
    clearTimeout(grace)
    await Promise.all(Array.from(this.#busy, client => client.destroy()))
  }

  #resolveIfIdle (): void {
    if (this.#busy.size === 0) this.#allIdle?.()
  }
}

/** One HTTP request to a model API (the upstream). */
export interface UpstreamRequest {
  readonly connections: Connections
  readonly path: string
  /** The headers: a name, its value, the next name, and so on. */
  readonly headers: string[]
  /** The JSON text of the body. */
  readonly body: string
  readonly timeouts: ModelTimeouts
  /** The signal that ends the exchange; its reason becomes the failure. */
  readonly signal: CallerSignal
  /** The counter of the attempts of a call. Its `taken` grows by 1 when this request is sent, and shrinks by 1 if the API answers with an error status. */
  readonly tally: Tally | undefined
}

export interface ReplyHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Receives a reply: first `head`, then `data` for each piece, then `end`. If the exchange fails, `fail` is called in place of the calls that would follow. */
export interface ReplyReceiver {
  /** Takes the head (status and headers) of the reply. @throws UpstreamError to abort the exchange */
  head (head: ReplyHead, exchange: Exchange): void
  /**
   * Takes a piece of the body, and calls `Exchange.progressed` if the piece counts as progress.
   * @returns `false` to pause the reply until `Exchange.resume` is called
   * @throws UpstreamError to abort the exchange
   */
  data (chunk: Buffer): boolean
  end (): void
  /** Called when the exchange has failed. @param error an UpstreamError, or the reason of the request's signal */
  fail (error: unknown): void
}

/**
 * One POST to a model API, with its reply. It uses undici's `dispatch`, which is the fastest of undici's interfaces, and the only one that passes on
 * every piece as soon as the piece arrives, in the same turn of the event loop. Undici's own timeouts are off, because they do not distinguish the
 * wait for the first byte of a body from the wait for the next byte.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #receiver: ReplyReceiver
  readonly #leave = () => this.abort(this.#request.signal.reason)
  #client: Client | undefined
  #controller: Dispatcher.DispatchController | undefined
  #watchdog: NodeJS.Timeout
  #answerBegun = false
  // The number of times that the reply has progressed. The timer in `#watch` aborts the exchange when this number stays the same.
  #progress = 0
  #paused = false
  #over = false

  constructor (request: UpstreamRequest, receiver: ReplyReceiver) {
    this.#request = request
    this.#receiver = receiver
    const { connections, path, headers, body, signal, timeouts } = request
    this.#watchdog = this.#watch(timeouts.firstByte, `no answer within ${timeouts.firstByte} ms`)
    if (signal.aborted) {
      this.#leave()
      return
    }
    signal.addEventListener('abort', this.#leave, { once: true })
    this.#guard(() => {
      this.#client = connections.acquire()
      this.#client.dispatch({ method: 'POST', path, headers, body, headersTimeout: 0, bodyTimeout: 0 }, this)
    })
  }

  /** Ends the exchange now: its socket is closed, and the receiver gets `reason` as the failure. */
  abort (reason: unknown): void {
    if (this.#over) return
    this.#settle()
    this.#destroy()
    this.#receiver.fail(reason)
  }

  /** Reports progress: a part of the reply that the caller waits for has come. The time allowed until the next progress begins anew. */
  progressed (): void {
    if (this.#over) return
    this.#progress++
    if (this.#answerBegun) this.#watchdog.refresh()
    else this.#beginAnswer()
  }

  /** Continues the reply, which was paused when the receiver's `data` returned `false`. */
  resume (): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#progress++
    this.#watchdog.refresh()
    this.#controller?.resume()
  }

  /** Called by undici when a connection is made and the request is being written to it. */
  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    const { tally } = this.#request
    if (tally !== undefined) tally.taken++
  }

  onResponseStart (_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#over) return
    const { tally } = this.#request
    if (status > 299 && tally !== undefined) tally.taken--
    this.#guard(() => this.#receiver.head({ status, headers }, this))
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Undici passes on an empty piece when it resumes, which is no progress.
    if (this.#over || chunk.length === 0) return
    this.#guard(() => {
      if (this.#receiver.data(chunk) || this.#over) return
      this.#paused = true
      controller.pause()
    })
  }

  onResponseEnd (): void {
    if (this.#over) return
    this.#settle()
    if (this.#client !== undefined) this.#request.connections.release(this.#client)
    this.#receiver.end()
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return
    this.#settle()
    this.#destroy()
    this.#receiver.fail(transportError(error))
  }

  #beginAnswer (): void {
    const { idle } = this.#request.timeouts
    this.#answerBegun = true
    clearTimeout(this.#watchdog)
    this.#watchdog = this.#watch(idle, `the reply stalled for ${idle} ms`)
  }

  /** Starts the watchdog: a timer that aborts the exchange, unless there was progress or the receiver has paused the reply. */
  #watch (milliseconds: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => {
      const progress = this.#progress
      // The check runs a turn later, because an event loop that was busy runs its timers before it reads the data that arrived meanwhile.
      setImmediate(() => {
        if (this.#over) return
        // While the receiver has paused the reply, the silence is not the fault of the API.
        if (this.#paused || this.#progress !== progress) this.#watchdog.refresh()
        else this.abort(new UpstreamError(reason, { retryable: true }))
      })
    }, milliseconds)
  }

  #guard (step: () => void): void {
    try {
      step()
    } catch (error) {
      this.abort(error)
    }
  }

  #destroy (): void {
    if (this.#client !== undefined) this.#request.connections.destroy(this.#client)
  }

  #settle (): void {
    this.#over = true
    clearTimeout(this.#watchdog)
    this.#request.signal.removeEventListener('abort', this.#leave)
  }
}

/** A reply of a model API that has arrived as a whole. */
export interface CollectedReply extends ReplyHead {
  readonly body: Buffer
}

/**
 * Sends a request, and takes the whole reply into memory, up to a limit. The exchange is aborted as soon as the reply is known to be larger.
 * @param limit the greatest size of the reply, in bytes
 * @throws UpstreamError, or the reason of the request's signal
 */
export function collectReply (request: UpstreamRequest, limit: number): Promise<CollectedReply> {
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line no-new -- the exchange does its work in callbacks, so nobody needs the object
    new Exchange(request, new ReplyCollector(limit, resolve, reject))
  })
}

/** Gathers the body of a reply. */
export class ReplyCollector implements ReplyReceiver {
  readonly #limit: number
  readonly #resolve: (reply: CollectedReply) => void
  readonly #reject: (error: unknown) => void
  readonly #chunks: Buffer[] = []
  #exchange: Pick<Exchange, 'progressed'> | undefined
  #length = 0
  #status = 0
  #headers: IncomingHttpHeaders = {}

  constructor (limit: number, resolve: (reply: CollectedReply) => void, reject: (error: unknown) => void) {
    this.#limit = limit
    this.#resolve = resolve
    this.#reject = reject
  }

  head ({ status, headers }: ReplyHead, exchange: Pick<Exchange, 'progressed'>): void {
    this.#exchange = exchange
    this.#status = status
    this.#headers = headers
    if (Number(headers['content-length'] ?? 0) > this.#limit) throw this.#tooLarge()
  }

  data (chunk: Buffer): boolean {
    this.#exchange?.progressed()
    this.#length += chunk.length
    if (this.#length > this.#limit) throw this.#tooLarge()
    this.#chunks.push(chunk)
    return true
  }

  end (): void {
    const [only] = this.#chunks
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks)
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }

  fail (error: unknown): void {
    this.#reject(error)
  }

  #tooLarge (): UpstreamError {
    return new UpstreamError(`the reply is larger than ${this.#limit} bytes`, { retryable: false, status: this.#status })
  }
}
