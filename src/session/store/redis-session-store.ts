import type { Redis } from 'ioredis'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { createRedisConnection, isWithheld, type RedisConnection } from '../../store/redis/redis-connection.ts'
import { openRedisNodes, type RedisNodes } from '../../store/redis/cluster-nodes.ts'
import { parseRedisUrl, type RedisPlace } from '../../store/redis/redis-url.ts'
import { StoreError } from '../../store/store.ts'
import { ENDED, type Head } from '../model.ts'
import {
  type Append, type Appended, checkAppend, type StoredLogEntry, isSessionId, type ListQuery, MAX_UNKNOWN, PAGE_BYTES, PAGE_SIZE, type Renewed,
  type SessionListener,
  type HeadPage, type SessionStore, SessionStoreError, type Taken
} from './session-store.ts'
import { compareNewest, cursorOf, matchesQuery, parseCursor, type ListPosition } from './session-index.ts'
import { RedisSessionFeed } from './redis-session-feed.ts'
import { APPEND, LIST, RENEW, TAKE } from './redis-session-scripts.ts'

/** The values of `maxmemory-policy` under which Redis never drops a key that has no expiry, such as those of a session that has not ended. */
const SAFE = /^(noeviction|volatile-\w+)$/

/**
 * Wraps a Redis connection, so that it refuses a server whose eviction policy allows it to drop sessions when memory is full. Each connection
 * checks the policy with its first command, and after a refusal again with the next command.
 */
export function withSafeEviction (connection: RedisConnection, log: Log): RedisConnection {
  const { client, target: { address }, ask } = connection
  let isSafe = false
  const warned = new Set<string>()
  client.on('close', () => { isSafe = false })

  function warn (message: string): void {
    if (warned.has(message)) return
    warned.add(message)
    log.warn({ redis: address }, message)
  }

  async function assertSafe (): Promise<void> {
    const info = await permitted(client.info())
    const policy = /^maxmemory_policy:([\w-]+)/m.exec(info ?? '')?.[1] ?? (await permitted(client.config('GET', 'maxmemory-policy')) as string[] | undefined)?.[1]
    if (policy === undefined) warn('Redis does not tell its maxmemory-policy: sessions need noeviction or volatile-*')
    else if (!SAFE.test(policy)) {
      const wrong = `its maxmemory-policy is ${policy}, and has to be noeviction or volatile-*`
      throw new StoreError(`Redis at ${address} may drop sessions when its memory is full: ${wrong}`)
    }
    // While Redis loads its data, it reports its append-only file as off, even if that is on. So this check is left to a later command.
    if (/^loading:1/m.test(info ?? '')) return
    if (/^aof_enabled:0/m.test(info ?? '')) warn('Redis keeps no append-only file: after a crash of it, sessions are as its last snapshot has them')
    isSafe = true
  }

  return {
    ...connection,
    ask: question => ask(async () => {
      if (!isSafe) await assertSafe()
      return await question()
    })
  }
}

/** Waits for the answer to a command; `undefined` where Redis does not permit the command to this user. */
async function permitted<T> (answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isWithheld(error)) return undefined
    throw error
  }
}

/** The names of the 16 shards (parts) of the sessions. The first digit of a session's id names its shard. All keys of a shard are on one node of a cluster. */
const SHARDS = [...'0123456789abcdef']

/** The Redis keys of one shard (a sixteenth of all sessions). */
interface ShardKeys {
  /** The common prefix of the shard's keys. Lua scripts build the keys of single sessions from it. */
  readonly prefix: string
  /** The sorted set of session ids by due time: the time from which on any replica can take the session over. */
  readonly due: string
  /** The sorted set of the ids of all sessions but child sessions, by the time at which each session began. */
  readonly all: string
  /** The sorted set of the ids and owners of ended sessions, by the time at which Redis deletes each session. */
  readonly ended: string
  /** The sorted set of the ids of one owner's sessions, without child sessions, by the time at which each session began. */
  of (owner: string): string
  /** The sorted set of the ids of an owner's sessions that have not ended, without child sessions, by the time at which each began. */
  open (owner: string): string
  /** The sorted set of the ids of all descendants of a root session, by the time at which each began. */
  below (root: string): string
  /** The sorted set of the ids of an owner's child sessions that have not ended, by the time at which each began. */
  openBelow (owner: string): string
  /** The Redis stream with the log entries of a session. */
  log (id: string): string
  /** The Redis hash of a session with the fields `head` (the summary that lists show), `driver` and `seq`. */
  head (id: string): string
  /** The Pub/Sub channel for a session's live messages, and for the number of each new entry of its log. */
  channel (id: string): string
}

/** The name of the shard that a session's keys are in: the first digit of its id. */
function shardOf (id: Head['id']): string {
  return id.charAt(0)
}

/** The name that stands, instead of an owner, in the Redis key of the list of a root session's descendants. */
function belowName (root: string): string {
  return `>${root}`
}

/** Makes the Redis keys of a shard, such as `shenma:sessions:{7}:due`. The hash tag in braces keeps them on one node of a cluster. */
function shardKeys (keyPrefix: string, shard: string): ShardKeys {
  const prefix = `${keyPrefix}sessions:{${shard}}:`
  return {
    prefix,
    due: `${prefix}due`,
    all: `${prefix}all`,
    ended: `${prefix}ended`,
    of: owner => `${prefix}of:${owner}`,
    open: owner => `${prefix}open:${owner}`,
    // This key cannot be that of an owner: an owner is the name of an access token, and no such name has a `>`.
    below: root => `${prefix}of:${belowName(root)}`,
    openBelow: owner => `${prefix}open:>${owner}`,
    log: id => `${prefix}${id}:log`,
    head: id => `${prefix}${id}:head`,
    channel: id => `${prefix}${id}`
  }
}

/** The most sessions that are read for one page of a list, even if too few of them match the query to fill the page. */
const LOOKED_AT = 2000

/** A session in the list of a shard (a sixteenth of all sessions). The head (summary) is missing when Redis has deleted the session. */
interface ShardSession extends ListPosition {
  readonly head: Head | undefined
}

/** Merges the session lists of all shards into one page. Each list has the newest session first, and so has the page. */
async function mergePage (shards: ReadonlyArray<AsyncIterator<ShardSession>>, query: ListQuery): Promise<HeadPage> {
  const next = async (shard: AsyncIterator<ShardSession>) => {
    const { value, done } = await shard.next()
    return done === true ? [] : [{ shard, listed: value }]
  }
  const heads: Head[] = []
  let firsts = (await Promise.all(shards.map(next))).flat()
  for (let looked = 1; firsts.length > 0; looked++) {
    const newest = firsts.reduce((best, first) => compareNewest(first.listed, best.listed) < 0 ? first : best)
    const { head } = newest.listed
    if (head !== undefined && matchesQuery(head, query)) heads.push(head)
    firsts = [...firsts.filter(first => first !== newest), ...await next(newest.shard)]
    if (firsts.length > 0 && (heads.length === query.limit || looked === LOOKED_AT)) return { heads, next: cursorOf(newest.listed) }
  }
  return { heads, next: undefined }
}

export interface RedisSessionStoreOptions {
  /** The URL of one Redis server, of Sentinels that name the server, or of a cluster. @see parseRedisUrl */
  readonly url: string
  /** The password of the Sentinels, if they need one. */
  readonly sentinelPassword?: string
  /** The prefix of every key. @default 'shenma:' */
  readonly keyPrefix?: string
  /** How long an ended session is kept, in ms. */
  readonly keep: number
  readonly log: Log
  /** The longest wait for an answer of Redis, in ms. @default 2000 */
  readonly commandTimeout?: number
}

/** How many transitions of a session's log a reader asks Redis for with its first request. */
const FIRST_PAGE = 4

/** How many sessions of one shard (a sixteenth of all) a list reads with its first request, and the most that a later request reads. */
const LIST_FROM = 10
const LIST_TO = 200

/**
 * A session store in Redis, for all replicas (service processes), in 16 shards (parts). All keys of a shard are on one node of a cluster, so that
 * one script can change them together. The store connects with its first use, over connections that nothing else uses.
 * @throws SessionStoreError when the URL is not one for Redis
 */
export function createRedisSessionStore (options: RedisSessionStoreOptions): SessionStore {
  return new RedisSessionStore(options)
}

class RedisSessionStore implements SessionStore {
  readonly #options: RedisSessionStoreOptions
  readonly #place: RedisPlace
  readonly #shards: ReadonlyMap<string, ShardKeys>
  /** The feeds (receivers of Pub/Sub messages), by the address of their Redis node. */
  readonly #feeds = new Map<string, RedisSessionFeed>()
  #nodes: RedisNodes | undefined
  #closed = false
  /** How often `take` was called. Each call begins with the next shard (a sixteenth of all sessions), so that no shard is preferred. */
  #first = 0

  constructor (options: RedisSessionStoreOptions) {
    this.#options = options
    this.#place = translated(() => parseRedisUrl(options.url, options.sentinelPassword))
    this.#shards = new Map(SHARDS.map(shard => [shard, shardKeys(options.keyPrefix ?? 'shenma:', shard)]))
  }

  async append (append: Append): Promise<Appended> {
    checkAppend(append)
    const { id, after, transition, entry, due, head: { driver, ...head } } = append
    const keys = this.#keys(id)
    const kept = ENDED.has(head.status) ? this.#options.keep : ''
    const { owner, root } = head
    // Lists mostly leave child sessions out. So children are not in the sets that such lists read, but in sets of their own.
    const sets = root === undefined
      ? { all: keys.all, of: keys.of(owner), open: keys.open(owner), name: owner }
      : { all: keys.below(root), of: keys.below(root), open: keys.openBelow(owner), name: belowName(root) }
    const outcome = await this.#run(keys, APPEND, [keys.log(id), keys.head(id), keys.due, sets.all, sets.of, keys.ended, sets.open], [
      after?.seq ?? 0, after?.token ?? '', transition.seq, transition.token, entry.text, stringifyJson(head),
      driver ?? '', due, head.createdAt, kept, id, sets.name, keys.channel(id), entry.seal
    ]) as 'ok' | 'again' | [seq: string, token: string]
    if (typeof outcome === 'string') return outcome
    const [seq, token] = outcome
    return { top: seq === '0' ? undefined : { seq: Number(seq), token } }
  }

  async * read (id: string, after: number): AsyncGenerator<readonly StoredLogEntry[]> {
    this.#opened()
    if (!isSessionId(id)) return
    const log = this.#keys(id).log(id)
    // Redis limits a reply by a number of entries, but memory is limited in bytes. So the size of the last page decides how many entries the next has.
    for (let [from, count] = [after + 1, FIRST_PAGE]; ;) {
      const start = `${from}-0`
      const asked = count
      const entries = await this.#ask(log, node => node.xrange(log, start, '+', 'COUNT', asked))
      const page = entries.map(entryOf)
      const last = page.at(-1)
      if (last === undefined) return
      yield page
      if (page.length < asked) return
      const size = page.reduce((sum, { text }) => sum + text.length, 0)
      count = Math.min(PAGE_SIZE, Math.max(1, Math.floor(PAGE_BYTES * page.length / size)))
      from = last.seq + 1
    }
  }

  async head (id: string): Promise<Head | undefined> {
    this.#opened()
    if (!isSessionId(id)) return undefined
    const key = this.#keys(id).head(id)
    const [head = null, driver = null] = await this.#ask(key, node => node.hmget(key, 'head', 'driver'))
    return parseHead(head, driver)
  }

  async hasOpen (): Promise<boolean> {
    const found = await Promise.all([...this.#shards.values()].map(({ due }) => this.#ask(due, node => node.exists(due))))
    return found.includes(1)
  }

  async countOpen (owner: string): Promise<number> {
    const counts = await Promise.all([...this.#shards.values()].map(keys => this.#ask(keys.open(owner), node => node.zcount(keys.open(owner), '-inf', '+inf'))))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async list (query: ListQuery) {
    const after = parseCursor(query.cursor)
    const lists = [...this.#shards.values()].flatMap(keys => setsOf(keys, query).map(set => this.#listed(keys, set, after)))
    return await mergePage(lists, query)
  }

  /** Yields the sessions in one sorted set of a shard, the newest first. @param after the session after which to begin */
  async * #listed (keys: ShardKeys, set: string, after: ListPosition | undefined): AsyncGenerator<ShardSession> {
    for (let count = LIST_FROM; ; count = Math.min(2 * count, LIST_TO)) {
      const rows = await this.#run(keys, LIST, [set], [
        after?.createdAt ?? '', after?.id ?? '', count, keys.prefix
      ]) as Array<[id: string, createdAt: string, head: string | null, driver: string | null]>
      for (const [id, createdAt, head, driver] of rows) {
        after = { id, createdAt: Number(createdAt) }
        yield { ...after, head: parseHead(head, driver) }
      }
      if (rows.length < count) return
    }
  }

  async take (by: string, limit: number, lease: number, engines: ReadonlySet<string> = new Set()): Promise<Taken> {
    const start = this.#first++
    const shards = SHARDS.map((_, index) => this.#shards.get(SHARDS[(start + index) % SHARDS.length] as string) as ShardKeys)
    const takeOf = async (keys: ShardKeys, share: number) => {
      const [ids, next, unknown] = await this.#run(keys, TAKE, [keys.due, keys.all, keys.ended], [
        by, share, lease, keys.prefix, MAX_UNKNOWN, ...engines
      ]) as [ids: string[], next: number, unknown: Array<[id: string, engine: string, overdue: number]>]
      return { ids, next: next === -1 ? Infinity : next, unknown: unknown.map(([id, engine, overdue]) => ({ id, engine, overdue })) }
    }
    const taken = await Promise.all(shards.map((keys, index) => takeOf(keys, Math.floor((limit + SHARDS.length - 1 - index) / SHARDS.length))))
    const ids = taken.flatMap(one => one.ids)
    // The due sessions are not spread evenly over the shards. What other shards left of the limit is filled up from shards with more due sessions.
    for (const [index, { next }] of taken.entries()) {
      if (next > 0 || ids.length === limit) continue
      const more = await takeOf(shards[index] as ShardKeys, limit - ids.length)
      ids.push(...more.ids)
      taken[index] = more
    }
    const next = Math.min(...taken.map(one => one.next))
    const told = { ids, next: next === Infinity ? undefined : next }
    const unknown = taken.flatMap(one => one.unknown)
    return unknown.length === 0 ? told : { ...told, unknown }
  }

  async renew (by: string, ids: readonly string[], lease: number): Promise<Renewed[]> {
    this.#opened()
    const valid = ids.filter(isSessionId)
    const replies = await Promise.all(Array.from(this.#shards, async ([shard, keys]) => {
      const group = valid.filter(id => shardOf(id) === shard)
      if (group.length === 0) return []
      return await this.#run(keys, RENEW, [keys.due], [by, lease, keys.prefix, ...group]) as Array<[id: string, seq: number, isYours: 0 | 1]>
    }))
    const renewed = new Map(replies.flat().map(([id, seq, isYours]) => [id, { id, seq, isYours: isYours === 1 }]))
    return ids.flatMap(id => renewed.get(id) ?? [])
  }

  publish (id: string, live: JsonObject): void {
    if (this.#closed || !isSessionId(id)) return
    const channel = this.#keys(id).channel(id)
    const text = stringifyJson(live)
    // The message goes to the Redis node that announces new entries of the session's log, so that messages and announcements arrive in order.
    this.#ask(this.#keys(id).log(id), node => node.publish(channel, text)).catch(() => {})
  }

  async watch (id: string, listener: SessionListener): Promise<() => void> {
    this.#opened()
    if (!isSessionId(id)) return () => {}
    return await translating(this.#feedOf(id).then(feed => feed.watch(id, listener)))
  }

  /**
   * The feed (receiver of Pub/Sub messages) of the Redis node that stores a session. A cluster forwards messages between its nodes, but silently
   * loses some when a link breaks. So listeners connect to the node that stores the session.
   */
  async #feedOf (id: string): Promise<RedisSessionFeed> {
    const { target: { address } } = await this.#opened().holder(this.#keys(id).log(id))
    const known = this.#feeds.get(address)
    if (known !== undefined) return known
    // When this node fails, another node takes over this session and all others of the failed node, so the feed asks for the node of this session.
    const feed = new RedisSessionFeed({ node: () => this.#opened().holder(this.#keys(id).log(id)), channelOf: other => this.#keys(other).channel(other) })
    this.#feeds.set(address, feed)
    return feed
  }

  problem (): string | undefined {
    return this.#closed ? 'the store is closed' : this.#nodes?.problem()
  }

  async close (): Promise<void> {
    this.#closed = true
    for (const feed of this.#feeds.values()) feed.close()
    await this.#nodes?.close()
  }

  /** The connections to Redis; the first call of this method opens them. @throws SessionStoreError after `close` */
  #opened (): RedisNodes {
    if (this.#closed) throw new SessionStoreError('the store is closed')
    const { commandTimeout = 2000, log } = this.#options
    return (this.#nodes ??= openRedisNodes(this.#place, target => withSafeEviction(createRedisConnection(target, commandTimeout, log), log)))
  }

  #keys (id: string): ShardKeys {
    return this.#shards.get(shardOf(id)) as ShardKeys
  }

  async #run (keys: ShardKeys, script: string, names: readonly string[], values: ReadonlyArray<string | number>): Promise<unknown> {
    return await this.#ask(keys.due, node => node.eval(script, names.length, ...names, ...values))
  }

  async #ask<T> (key: string, question: (node: Redis) => Promise<T>): Promise<T> {
    return await translating(this.#opened().ask(key, question))
  }
}

/**
 * Converts an entry of a Redis stream to a log entry. The seal (signature) of the entry is not checked here.
 * @throws SessionStoreError when the entry's id does not have the form that this service gives
 */
function entryOf ([name, fields]: [name: string, fields: string[]]): StoredLogEntry {
  const seq = Number(name.split('-', 1)[0])
  if (!Number.isSafeInteger(seq)) throw new SessionStoreError(`entry ${name} of a session's log is not one of this service`)
  return { seq, text: fields[3] ?? '', seal: fields[5] ?? '' }
}

/**
 * The keys of the sorted sets that a list has to read for a query: the smallest sets that hold all matching sessions. Only sessions that have not
 * ended can wait for an approval.
 */
function setsOf (keys: ShardKeys, { owner, isAsking, root, withChildren }: ListQuery): string[] {
  if (root !== undefined) return [keys.below(root)]
  if (owner === undefined) return [keys.all]
  if (isAsking === undefined) return [keys.of(owner)]
  return [keys.open(owner), ...withChildren === true ? [keys.openBelow(owner)] : []]
}

function parseHead (head: string | null, driver: string | null): Head | undefined {
  if (head === null) return undefined
  return { ...JSON.parse(head) as Omit<Head, 'driver'>, driver: driver === null || driver === '' ? undefined : driver }
}

async function translating<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw translate(error)
  }
}

function translated<T> (action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw translate(error)
  }
}

function translate (error: unknown): unknown {
  return error instanceof StoreError ? new SessionStoreError(error.message, { cause: error }) : error
}
