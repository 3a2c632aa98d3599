import type { IncomingHttpHeaders } from 'node:http'
import type { Client, Dispatcher } from 'undici'
import type { CallerSignal } from '../runtime/deadline.ts'
import { undici } from '../runtime/http-modules.ts'
import type { ModelTimeouts, AttemptCount } from './model-client.ts'
import { transportError, UpstreamError } from './upstream-error.ts'

/** In ms. */
const CLOSE_GRACE = 1000

/** Destroys aborted connections: undici's Pool would leave each as an open socket (https://github.com/nodejs/undici/issues/5845). */
export class Connections {
  readonly #origin: string
  readonly #connectTimeout: number
  // Loaded when the service starts with an API over HTTP, not in the first call.
  readonly #Client = undici.client()
  // Last released, first acquired, so that superfluous connections time out.
  readonly #idle: Client[] = []
  readonly #busy = new Set<Client>()
  #closing: Promise<void> | undefined
  #allIdle: (() => void) | undefined

  /** @param connectTimeout in ms */
  constructor (origin: string, connectTimeout: number) {
    this.#origin = origin
    this.#connectTimeout = connectTimeout
  }

  /** @throws UpstreamError when the pool is closed */
  acquire (): Client {
    if (this.#closing !== undefined) throw new UpstreamError('the service is shutting down', { retryable: false })
    const client = this.#idle.pop() ?? this.#open()
    this.#busy.add(client)
    return client
  }

  release (client: Client): void {
    if (!this.#busy.delete(client)) return
    if (this.#closing === undefined) this.#idle.push(client)
    this.#resolveIfIdle()
  }

  destroy (client: Client): void {
    this.#busy.delete(client)
    client.destroy().catch(() => {})
    this.#resolveIfIdle()
  }

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

export interface UpstreamRequest {
  readonly connections: Connections
  readonly path: string
  /** A name, its value, the next name, and so on. */
  readonly headers: string[]
  readonly body: string | Buffer
  readonly timeouts: ModelTimeouts
  readonly signal: CallerSignal
  /** `taken` grows when this request is sent, and shrinks if the API answers with an error status. */
  readonly tally: AttemptCount | undefined
}

export interface ReplyHead {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Calls `head`, `data` for each piece, then `end`; or `fail` in place of what would follow. */
export interface ReplyReceiver {
  /** @throws UpstreamError to abort the exchange */
  head (head: ReplyHead, exchange: Exchange): void
  /** Returns `false` to pause until `Exchange.resume`; calls `Exchange.progressed` for progress. @throws UpstreamError to abort the exchange */
  data (chunk: Buffer): boolean
  end (): void
  fail (error: unknown): void
}

/** Undici's `dispatch` alone passes pieces on in the same turn; its timeouts are off, as they cannot tell the first byte from the next. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: UpstreamRequest
  readonly #receiver: ReplyReceiver
  readonly #leave = () => this.abort(this.#request.signal.reason)
  #client: Client | undefined
  #controller: Dispatcher.DispatchController | undefined
  #watchdog: NodeJS.Timeout
  #answerBegun = false
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

  abort (reason: unknown): void {
    if (this.#over) return
    this.#settle()
    this.#destroy()
    this.#receiver.fail(reason)
  }

  progressed (): void {
    if (this.#over) return
    this.#progress++
    if (this.#answerBegun) this.#watchdog.refresh()
    else this.#beginAnswer()
  }

  resume (): void {
    if (!this.#paused || this.#over) return
    this.#paused = false
    this.#progress++
    this.#watchdog.refresh()
    this.#controller?.resume()
  }

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
    // Undici passes on an empty piece when it resumes: no progress.
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

  #watch (milliseconds: number, reason: string): NodeJS.Timeout {
    return setTimeout(() => {
      const progress = this.#progress
      // A turn later: a busy event loop runs timers before it reads the data that arrived meanwhile.
      setImmediate(() => {
        if (this.#over) return
        // While the receiver pauses the reply, silence is not the API's fault.
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

export interface CollectedReply extends ReplyHead {
  readonly body: Buffer
}

/** Aborts as soon as the reply is known to exceed `limit` bytes. @throws UpstreamError, or the reason of the request's signal */
export function collectReply (request: UpstreamRequest, limit: number): Promise<CollectedReply> {
  return new Promise((resolve, reject) => {
    // eslint-disable-next-line no-new -- the exchange does its work in callbacks, so nobody needs the object
    new Exchange(request, new ReplyCollector(limit, resolve, reject))
  })
}

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
