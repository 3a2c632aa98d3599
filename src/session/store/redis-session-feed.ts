import { type Redis } from 'ioredis'
import { parseOwnJson, type JsonObject } from '../../base/json.ts'
import { type RedisConnection } from '../../store/redis/redis-connection.ts'
import { type SessionListener, SessionListeners, SessionStoreError } from './session-store.ts'

/** In ms, before a lost connection is opened again. */
const RETRY_MS = 500

/** In ms between pings: a broken connection is as silent as an idle one. */
const HEARTBEAT_MS = 1000

interface Subscriber { readonly own: Redis, readonly connection: RedisConnection }

/** Commands go over another connection, which finds the new master after a failover: when it closes, so does this one. */
export class RedisSessionFeed {
  readonly #node: () => Promise<RedisConnection>
  readonly #channelOf: (id: string) => string
  readonly #listeners = new SessionListeners()
  #subscriber: Subscriber | undefined
  #connecting: Promise<Subscriber> | undefined
  #retry: NodeJS.Timeout | undefined
  #heartbeat: NodeJS.Timeout | undefined
  /** Messages are perhaps lost; listeners are told when the connection is open again. */
  #hasGap = false
  #closed = false

  /** @param node gives the node that stores the sessions: others forward its messages, but can lose some */
  constructor (node: () => Promise<RedisConnection>, channelOf: (id: string) => string) {
    this.#node = node
    this.#channelOf = channelOf
  }

  /** @see SessionStore.watch @throws what `node` throws */
  async watch (id: string, listener: SessionListener): Promise<() => void> {
    const channel = this.#channelOf(id)
    const remove = this.#listeners.add(id, listener)
    try {
      const { own, connection } = await this.#connected()
      await connection.ask(() => own.subscribe(channel))
    } catch (error) {
      remove()
      throw error
    }
    return () => {
      remove()
      if (!this.#listeners.has(id)) this.#subscriber?.own.unsubscribe(channel).catch(() => {})
    }
  }

  close (): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearInterval(this.#heartbeat)
    this.#listeners.clear()
    this.#subscriber?.own.disconnect()
    this.#subscriber = undefined
  }

  async #connected (): Promise<Subscriber> {
    return this.#subscriber ?? await (this.#connecting ??= this.#connect().finally(() => { this.#connecting = undefined }))
  }

  async #connect (): Promise<Subscriber> {
    const connection = await this.#node()
    const own = connection.createCompanion()
    const lose = () => this.#lose(own)
    own.on('error', () => {})
    own.on('close', () => {
      connection.client.off('close', lose)
      lose()
    })
    own.on('message', (channel: string, text: string) => this.#hear(channel.slice(-32), text))
    try {
      await connection.ask(async () => {
        await own.connect()
        const channels = this.#listeners.ids().map(this.#channelOf)
        if (channels.length > 0) await own.subscribe(...channels)
      })
      if (this.#closed) throw new SessionStoreError('the store is closed')
    } catch (error) {
      own.disconnect()
      throw error
    }
    connection.client.on('close', lose)
    this.#subscriber = { own, connection }
    clearInterval(this.#heartbeat)
    this.#heartbeat = setInterval(() => { own.ping().catch(lose) }, HEARTBEAT_MS).unref()
    if (this.#hasGap) this.#listeners.gap()
    this.#hasGap = false
    return this.#subscriber
  }

  #lose (own: Redis): void {
    if (this.#subscriber?.own !== own) return
    this.#subscriber = undefined
    clearInterval(this.#heartbeat)
    own.disconnect()
    this.#hasGap = true
    this.#connectLater()
  }

  #connectLater (): void {
    if (this.#closed || this.#listeners.ids().length === 0) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => { this.#connected().catch(() => this.#connectLater()) }, RETRY_MS).unref()
  }

  #hear (id: string, text: string): void {
    if (/^\d+$/.test(text)) return this.#listeners.appended(id, Number(text))
    try {
      this.#listeners.live(id, parseOwnJson(text) as JsonObject)
    } catch {
      // Somebody else has published on the channel.
    }
  }
}
