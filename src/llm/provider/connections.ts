import { type Client } from 'undici'
import { undici } from '../../runtime/undici.ts'
import { UpstreamError } from '../upstream-error.ts'

/** How long `close` waits for calls that are running, in ms. */
const CLOSE_GRACE = 1000

/**
 * The connections to one origin. Each connection has one call at a time. Undici's own Pool cannot serve here: after an
 * aborted call its client connects once more, for nothing, and that socket stays
 * (https://github.com/nodejs/undici/issues/5845). So every caller who leaves would leave a socket behind. Here the client of
 * an aborted call is destroyed.
 */
export class Connections {
  readonly #origin: string
  readonly #connectTimeout: number
  // Loaded with the service, where it has such a model, and not within its first call.
  readonly #Client = undici.client()
  // The last one released is the first one acquired, so that those too many time out.
  readonly #idle: Client[] = []
  readonly #busy = new Set<Client>()
  #closing: Promise<void> | undefined
  #allIdle: (() => void) | undefined

  /** @param connectTimeout in ms */
  constructor (origin: string, connectTimeout: number) {
    this.#origin = origin
    this.#connectTimeout = connectTimeout
  }

  /**
   * A connection for one call: a free one, or a new one.
   * @throws UpstreamError when the connections are closed
   */
  acquire (): Client {
    if (this.#closing !== undefined) throw new UpstreamError('the service is shutting down', { retryable: false })
    const client = this.#idle.pop() ?? this.#open()
    this.#busy.add(client)
    return client
  }

  /** Takes a connection back whose call has ended well. */
  release (client: Client): void {
    if (!this.#busy.delete(client)) return
    if (this.#closing === undefined) this.#idle.push(client)
    this.#resolveIfIdle()
  }

  /** Ends a connection, with whatever runs on it. */
  destroy (client: Client): void {
    this.#busy.delete(client)
    client.destroy().catch(() => {})
    this.#resolveIfIdle()
  }

  /** Waits for the calls that are running, for a bounded time, then ends all connections. */
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
