import { type IncomingHttpHeaders } from 'node:http'
import { Exchange, type ReplyHead, type ReplyReceiver, type UpstreamRequest } from './exchange.ts'
import { UpstreamError } from '../upstream-error.ts'

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
