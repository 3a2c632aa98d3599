import { type Redis } from 'ioredis'
import { parseOwnJson, type JsonObject } from '../../base/json.ts'
import { isWithheld, type RedisConnection } from '../../store/redis/redis-connection.ts'
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
  readonly #mayShard: boolean
  /** Whether this connection subscribes by shard: APPEND publishes so under the same conditions. */
  #isSharded = false
  readonly #listeners = new SessionListeners()
  #subscriber: Subscriber | undefined
  #connecting: Promise<Subscriber> | undefined
  #retry: NodeJS.Timeout | undefined
  #heartbeat: NodeJS.Timeout | undefined
  /** Messages are perhaps lost; listeners are told when the connection is open again. */
  #hasGap = false
  #closed = false

  /**
   * @param node gives the node that stores the sessions: others forward its messages, but can lose some
   * @param mayShard the channels are of one slot of a cluster, whose other nodes do not have to hear the messages
   */
  constructor (node: () => Promise<RedisConnection>, channelOf: (id: string) => string, mayShard: boolean) {
    this.#node = node
    this.#channelOf = channelOf
    this.#mayShard = mayShard
  }

  /** @see SessionStore.watch @throws what `node` throws */
  async watch (id: string, listener: SessionListener): Promise<() => void> {
    const channel = this.#channelOf(id)
    const remove = this.#listeners.add(id, listener)
    try {
      const { own, connection } = await this.#connected()
      // Where the slot has moved, the connection is lost: the next one subscribes, and tells of a gap.
      await connection.ask(() => this.#subscribe(own, channel).catch(error => { if (!/^MOVED/.test((error as Error).message)) throw error }))
    } catch (error) {
      remove()
      throw error
    }
    return () => {
      remove()
      if (this.#listeners.has(id)) return
      const subscribed = this.#subscriber?.own
      const done = this.#isSharded ? subscribed?.sunsubscribe(channel) : subscribed?.unsubscribe(channel)
      done?.catch(() => {})
    }
  }

  async #subscribe (own: Redis, ...channels: readonly string[]): Promise<void> {
    if (this.#isSharded) {
      try {
        await own.ssubscribe(...channels)
        return
      } catch (error) {
        if (!isWithheld(error)) throw error
        this.#isSharded = false
      }
    }
    await own.subscribe(...channels)
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
    const hear = (channel: string, text: string): void => this.#hear(channel.slice(-32), text)
    own.on('message', hear)
    own.on('smessage', hear)
    own.on('moved', lose)
    this.#isSharded = this.#mayShard
    try {
      await connection.ask(async () => {
        await own.connect()
        const channels = this.#listeners.ids().map(this.#channelOf)
        if (channels.length > 0) await this.#subscribe(own, ...channels)
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
