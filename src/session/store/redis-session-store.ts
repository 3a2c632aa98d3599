import type { Cluster, Redis } from 'ioredis'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { isWithheld, type RedisConnection } from '../../store/redis/redis-connection.ts'
import { openRedisNodes, type RedisNodes } from '../../store/redis/redis-nodes.ts'
import { parseRedisUrl, type RedisPlace } from '../../store/redis/redis-url.ts'
import { StoreError } from '../../store/store.ts'
import { ENDED, type Head } from '../model.ts'
import {
  type Append, type Appended, type Asking, checkAppend, type StoredLogEntry, isSessionId, type ListQuery, MAX_UNKNOWN, PAGE_BYTES, PAGE_SIZE, type Renewed,
  type SessionListener,
  type HeadPage, type SessionStore, SessionStoreError, type Taken, type Tally
} from './session-store.ts'
import { compareNewest, cursorOf, type ListPosition, matchesQuery, startOfList } from './session-index.ts'
import { RedisSessionFeed } from './redis-session-feed.ts'
import { APPEND, ASKING, LIST, REDRIVE, RENEW, TAKE, TALLY } from './redis-session-scripts.ts'

/** Policies under which Redis never drops a key without expiry, such as those of open sessions. */
const SAFE = /^(noeviction|volatile-\w+)$/

/** Refuses a server whose eviction policy may drop sessions. Checked with each connection's first command. */
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
    // While Redis loads its data, it reports its append-only file as off, so a later command checks.
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

/** `undefined` where Redis does not permit the command to this user. */
async function permitted<T> (answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isWithheld(error)) return undefined
    throw error
  }
}

/** 16 shards, by the first digit of the id. All keys of a shard are on one node of a cluster. */
const SHARDS = [...'0123456789abcdef']

function shardOf (id: Head['id']): string {
  return id.charAt(0)
}

function belowName (root: string): string {
  return `>${root}`
}

/** Such as `shenma:sessions:{7}:due`: the hash tag keeps a shard's keys on one node. */
function shardKeys (keyPrefix: string, shard: string) {
  const prefix = `${keyPrefix}sessions:{${shard}}:`
  return {
    /** Lua scripts build the keys of single sessions from it. */
    prefix,
    /** Sorted by when any replica can take the session over. */
    due: `${prefix}due`,
    /** The same sessions by owner and engine. */
    turns: `${prefix}turns`,
    /** Without child sessions, sorted by beginning; so is `of`. */
    all: `${prefix}all`,
    /** In which an approval waits, sorted by beginning, and what is there while nothing has to be looked up again. */
    asking: `${prefix}asking`,
    askingKnown: `${prefix}asking:known`,
    /** Sorted by when Redis deletes the session. */
    ended: `${prefix}ended`,
    of: (owner: string) => `${prefix}of:${owner}`,
    /** Not ended, without child sessions. */
    open: (owner: string) => `${prefix}open:${owner}`,
    /** All descendants of a root session. Cannot be an owner's key: no name of an access token has a `>`. */
    below: (root: string) => `${prefix}of:${belowName(root)}`,
    /** Child sessions that have not ended. */
    openBelow: (owner: string) => `${prefix}open:>${owner}`,
    log: (id: string) => `${prefix}${id}:log`,
    head: (id: string) => `${prefix}${id}:head`,
    /** Carries live messages, and the number of each new entry. */
    channel: (id: string) => `${prefix}${id}`
  }
}

type ShardKeys = ReturnType<typeof shardKeys>

/** Sessions read for one page, even if too few match to fill it. */
const LOOKED_AT = 2000

/** No head when Redis has deleted the session. */
type ShardSession = ListPosition & { readonly head: Head | undefined }

async function mergePage (shards: ReadonlyArray<AsyncIterator<ShardSession>>, query: ListQuery): Promise<HeadPage> {
  const next = async (shard: AsyncIterator<ShardSession>) => {
    const { value, done } = await shard.next()
    return done === true ? [] : [{ shard, listed: value }]
  }
  const heads: Head[] = []
  let firsts = (await Promise.all(shards.map(next))).flat()
  for (let looked = 1; firsts.length > 0; looked++) {
    const newest = firsts.reduce((best, first) => compareNewest(first.listed, best.listed) < 0 ? first : best)
    const { head, createdAt } = newest.listed
    if (createdAt < (query.since ?? -Infinity)) break
    if (head !== undefined && matchesQuery(head, query)) heads.push(head)
    firsts = [...firsts.filter(first => first !== newest), ...await next(newest.shard)]
    if (firsts.length > 0 && (heads.length === query.limit || looked === LOOKED_AT)) return { heads, next: cursorOf(newest.listed) }
  }
  return { heads, next: undefined }
}

export interface RedisSessionStoreOptions {
  /** @see parseRedisUrl */
  readonly url: string
  readonly sentinelPassword?: string
  /** @default 'shenma:' */
  readonly keyPrefix?: string
  /** How long an ended session is kept, in ms. */
  readonly keep: number
  readonly log: Log
  /** In ms. @default 2000 */
  readonly commandTimeout?: number
}

/** Log entries in a reader's first request. */
const FIRST_PAGE = 4

/** Of one shard: the first request, and the most of a later one. */
const LIST_FROM = 10
const LIST_TO = 200

/** In ms, for which the set of asking sessions counts, which processes of an earlier version do not keep. */
const ASKING_KNOWN = 10 * 60_000

/** Of one shard: in a request, and in all. */
const [TALLY_PAGE, TALLY_MOST] = [500, 2000]

/** One script can change all keys of a shard, since they are on one node. Connects with its first use. @throws SessionStoreError for a bad URL */
export function createRedisSessionStore (options: RedisSessionStoreOptions): SessionStore {
  return new RedisSessionStore(options)
}

class RedisSessionStore implements SessionStore {
  readonly #options: RedisSessionStoreOptions
  readonly #place: RedisPlace
  readonly #shards: ReadonlyMap<string, ShardKeys>
  readonly #feeds = new Map<string, RedisSessionFeed>()
  /** Nodes that do not let this process publish to their shard alone. */
  readonly #unsharded = new WeakSet<Redis>()
  #nodes: RedisNodes | undefined
  #closed = false
  readonly #owners: string
  /** Each `take` begins with the next shard, so that none is preferred. */
  #first = 0
  /** The owner whose turn came last: the next `take` goes on behind it, so that none is always first. */
  #turn = ''

  constructor (options: RedisSessionStoreOptions) {
    this.#options = options
    try {
      this.#place = parseRedisUrl(options.url, options.sentinelPassword)
    } catch (error) {
      throw translate(error)
    }
    this.#owners = `${options.keyPrefix ?? 'shenma:'}sessions:owners`
    this.#shards = new Map(SHARDS.map(shard => [shard, shardKeys(options.keyPrefix ?? 'shenma:', shard)]))
  }

  async append (append: Append): Promise<Appended> {
    checkAppend(append)
    const { id, after, transition, entry, due, head: { driver, ...head } } = append
    const keys = this.#keys(id)
    const kept = ENDED.has(head.status) ? this.#options.keep : ''
    const { owner, root } = head
    // Lists mostly leave children out, so these are in sets of their own.
    const sets = root === undefined
      ? { all: keys.all, of: keys.of(owner), open: keys.open(owner), name: owner }
      : { all: keys.below(root), of: keys.below(root), open: keys.openBelow(owner), name: belowName(root) }
    const outcome = await this.#run(keys, APPEND, [keys.log(id), keys.head(id), keys.due, sets.all, sets.of, keys.ended, sets.open, keys.turns, keys.asking], [
      after?.seq ?? 0, after?.token ?? '', transition.seq, transition.token, entry.text, stringifyJson(head),
      driver ?? '', due, head.createdAt, kept, id, sets.name, keys.channel(id), entry.seal, this.#mayShard ? 'sharded' : '', `${owner}\0${head.engine}\0`,
      `${id}${owner}\0${head.definition}`, head.isAsking && kept === '' ? 'yes' : ''
    ]) as 'ok' | 'again' | [seq: string, token: string]
    if (typeof outcome === 'string') return outcome
    const [seq, token] = outcome
    return { top: seq === '0' ? undefined : { seq: Number(seq), token } }
  }

  async * read (id: string, after: number): AsyncGenerator<readonly StoredLogEntry[]> {
    this.#opened()
    if (!isSessionId(id)) return
    const log = this.#keys(id).log(id)
    // Redis limits by entries, but memory by bytes: the last page's size decides the next count.
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

  async tally (): Promise<Tally> {
    const counts = new Map<string, Tally['open'][number]>()
    const askedAt: number[] = []
    const shards = await Promise.all(Array.from(this.#shards.values(), async keys => {
      for (let read = 0; ;) {
        const [groups, asked, open, due, overdue] = await this.#run(keys, TALLY, [keys.due], [keys.prefix, read, TALLY_PAGE]) as
          [groups: Array<[kind: string, status: Head['status'], count: number]>, asked: number, open: number, due: number, overdue: number]
        for (const [kind, status, count] of groups) {
          const key = `${kind} ${status}`
          counts.set(key, { kind, status, count: count + (counts.get(key)?.count ?? 0) })
        }
        if (asked >= 0) askedAt.push(asked)
        read += TALLY_PAGE
        if (read >= open || read >= TALLY_MOST) return { unread: Math.max(0, open - read), due, overdue }
      }
    }))
    const sum = (of: (shard: typeof shards[number]) => number): number => shards.reduce((all, shard) => all + of(shard), 0)
    return {
      open: [...counts.values()],
      unread: sum(({ unread }) => unread),
      due: sum(({ due }) => due),
      overdue: Math.max(...shards.map(({ overdue }) => overdue)),
      asked: askedAt.length === 0 ? undefined : Math.min(...askedAt)
    }
  }

  async asking (): Promise<Asking[]> {
    const shards = await Promise.all(Array.from(this.#shards.values(), async keys =>
      await this.#run(keys, ASKING, [keys.due, keys.asking, keys.askingKnown], [keys.prefix, ASKING_KNOWN]) as string[]))
    const found = shards.flatMap(members => members.flatMap((member, index) => {
      if (index % 2 === 1) return []
      const [owner = '', definition = ''] = member.slice(32).split('\0')
      return [{ id: member.slice(0, 32), owner, definition, createdAt: Number(members[index + 1]) }]
    }))
    return found.sort((a, b) => compareNewest(b, a))
  }

  async list (query: ListQuery) {
    const after = startOfList(query)
    const lists = Array.from(this.#shards.values(), keys => this.#listed(keys, setOf(keys, query), after))
    return await mergePage(lists, query)
  }

  /** All keys and channels of a shard are in one slot of a cluster, so the nodes of other slots need not hear its messages. */
  get #mayShard (): boolean {
    return this.#place.kind === 'cluster'
  }

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

  async take (by: string, limit: number, lease: number, engines: ReadonlySet<string> = new Set(), passed: ReadonlySet<string> = new Set()): Promise<Taken> {
    const start = this.#first++
    const shards = SHARDS.map((_, index) => this.#shards.get(SHARDS[(start + index) % SHARDS.length] as string) as ShardKeys)
    const takeOf = async (keys: ShardKeys, share: number) => {
      const [ids, next, unknown, turn] = await this.#run(keys, TAKE, [keys.due, keys.all, keys.ended, keys.turns], [
        by, share, lease, keys.prefix, MAX_UNKNOWN, this.#turn, engines.size, ...engines, ...passed
      ]) as [ids: string[], next: number, unknown: Array<[id: string, engine: string, overdue: number]>, turn: string]
      if (ids.length > 0) this.#turn = turn
      return { ids, next: next === -1 ? Infinity : next, unknown: unknown.map(([id, engine, overdue]) => ({ id, engine, overdue })) }
    }
    const taken = await Promise.all(shards.map((keys, index) => takeOf(keys, Math.floor((limit + SHARDS.length - 1 - index) / SHARDS.length))))
    const ids = taken.flatMap(one => one.ids)
    // Due sessions are spread unevenly: what is left of the limit is filled from fuller shards.
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
      return await this.#run(keys, RENEW, [keys.due, keys.turns], [by, lease, keys.prefix, ...group]) as Array<[id: string, seq: number, isYours: 0 | 1]>
    }))
    const renewed = new Map(replies.flat().map(([id, seq, isYours]) => [id, { id, seq, isYours: isYours === 1 }]))
    return ids.flatMap(id => renewed.get(id) ?? [])
  }

  async redrive (id: string): Promise<boolean> {
    this.#opened()
    if (!isSessionId(id)) return false
    const keys = this.#keys(id)
    return await this.#run(keys, REDRIVE, [keys.due, keys.head(id), keys.turns], [id]) === 1
  }

  async keepOwner (name: string, text: string | undefined): Promise<void> {
    const owners = this.#owners
    await this.#ask(owners, node => text === undefined ? node.hdel(owners, name) : node.hset(owners, name, text))
  }

  async keptOwners (): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.#ask(this.#owners, node => node.hgetall(this.#owners))))
  }

  publish (id: string, live: JsonObject): void {
    if (this.#closed || !isSessionId(id)) return
    const channel = this.#keys(id).channel(id)
    const text = stringifyJson(live)
    // To the node that announces new entries, so that messages and announcements arrive in order.
    this.#opened().owner(this.#keys(id).log(id)).then(({ ask, client }) => ask(async () => {
      if (!this.#mayShard || this.#unsharded.has(client)) return await client.publish(channel, text)
      return await client.spublish(channel, text).catch(error => {
        if (!isWithheld(error)) throw error
        this.#unsharded.add(client)
        return client.publish(channel, text)
      })
    })).catch(() => {})
  }

  async watch (id: string, listener: SessionListener): Promise<() => void> {
    this.#opened()
    if (!isSessionId(id)) return () => {}
    return await this.#feedOf(id).watch(id, listener).catch(error => { throw translate(error) })
  }

  /** In a cluster one for each shard, since these can move apart, connected to its node: forwarded messages are silently lost when a link breaks. */
  #feedOf (id: string): RedisSessionFeed {
    const shard = this.#mayShard ? shardOf(id) : ''
    const known = this.#feeds.get(shard)
    if (known !== undefined) return known
    const feed = new RedisSessionFeed(() => this.#opened().holder(this.#keys(id).log(id)), other => this.#keys(other).channel(other), this.#mayShard)
    this.#feeds.set(shard, feed)
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

  #opened (): RedisNodes {
    if (this.#closed) throw new SessionStoreError('the store is closed')
    const { commandTimeout = 2000, log } = this.#options
    return (this.#nodes ??= openRedisNodes(this.#place, commandTimeout, log, connection => withSafeEviction(connection, log)))
  }

  #keys (id: string): ShardKeys {
    return this.#shards.get(shardOf(id)) as ShardKeys
  }

  async #run (keys: ShardKeys, script: string, names: readonly string[], values: ReadonlyArray<string | number>): Promise<unknown> {
    return await this.#ask(keys.due, node => node.eval(script, names.length, ...names, ...values))
  }

  async #ask<T> (key: string, question: (client: Redis | Cluster) => Promise<T>): Promise<T> {
    return await this.#opened().ask(key, question).catch(error => { throw translate(error) })
  }
}

/** The seal is not checked here. @throws SessionStoreError for an id of another form */
function entryOf ([name, fields]: [name: string, fields: string[]]): StoredLogEntry {
  const seq = Number(name.split('-', 1)[0])
  if (!Number.isSafeInteger(seq)) throw new SessionStoreError(`entry ${name} of a session's log is not one of this service`)
  return { seq, text: fields[3] ?? '', seal: fields[5] ?? '' }
}

/** The smallest set that holds all matches. Only open sessions can wait for an approval. */
function setOf (keys: ShardKeys, { owner, isAsking, statuses, root }: ListQuery): string {
  if (root !== undefined) return keys.below(root)
  if (owner === undefined) return keys.all
  return isAsking === undefined && statuses?.some(status => ENDED.has(status)) !== false ? keys.of(owner) : keys.open(owner)
}

function parseHead (head: string | null, driver: string | null): Head | undefined {
  if (head === null) return undefined
  return { ...JSON.parse(head) as Omit<Head, 'driver'>, driver: driver === null || driver === '' ? undefined : driver }
}

function translate (error: unknown): unknown {
  return error instanceof StoreError ? new SessionStoreError(error.message, { cause: error }) : error
}
