import { type Redis } from 'ioredis'
import { parseOwnJson, type JsonObject } from '../../base/json.ts'
import { type RedisConnection } from '../../store/redis/redis-connection.ts'
import { type SessionListener, SessionListeners, SessionStoreError } from './session-store.ts'

/** The delay before a lost connection for messages is opened again, in ms. */
const RETRY_MS = 500

/** The interval at which the connection for messages is checked with a ping, in ms: a broken connection is as silent as an idle one. */
const HEARTBEAT_MS = 1000

export interface RedisSessionFeedOptions {
  /** Gives a working connection to the cluster node that stores the sessions of this feed. Other nodes forward this node's messages, but can lose some. */
  readonly node: () => Promise<RedisConnection>
  readonly channelOf: (id: string) => string
}

interface Subscriber { readonly own: Redis, readonly connection: RedisConnection }

/**
 * A feed receives the Pub/Sub messages about sessions from one Redis node, over one connection for all followed sessions. Commands go over another
 * connection, which finds the new master after a failover: when that connection closes, the feed's connection is closed too.
 */
export class RedisSessionFeed {
  readonly #options: RedisSessionFeedOptions
  readonly #listeners = new SessionListeners()
  #subscriber: Subscriber | undefined
  #connecting: Promise<Subscriber> | undefined
  #retry: NodeJS.Timeout | undefined
  #heartbeat: NodeJS.Timeout | undefined
  /** Whether the connection for messages was lost, and perhaps messages with it. When it is open again, the listeners are told of the gap. */
  #hasGap = false
  #closed = false

  constructor (options: RedisSessionFeedOptions) {
    this.#options = options
  }

  /** Adds a listener to a session's messages. @see SessionStore.watch @throws what `node` throws */
  async watch (id: string, listener: SessionListener): Promise<() => void> {
    const channel = this.#options.channelOf(id)
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
    const connection = await this.#options.node()
    const own = connection.createCompanion()
    const lose = () => this.#lose(own)
    own.on('error', () => {})
    own.on('close', () => {
      connection.client.off('close', lose)
      lose()
    })
    own.on('message', (channel: string, text: string) => this.#hear(channel.slice(-32), text))
    try {
      // `own` is the connection that only receives messages. Its errors are reported like those of `connection`, over which commands go.
      await connection.ask(async () => {
        await own.connect()
        const channels = this.#listeners.ids().map(this.#options.channelOf)
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
      // The message was not sent by this service: somebody else has published on the channel.
    }
  }
}
