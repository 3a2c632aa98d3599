import { type Client } from 'undici'
import { undici } from '../../runtime/undici.ts'
import { UpstreamError } from '../upstream-error.ts'

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
