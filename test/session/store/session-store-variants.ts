import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { createRedisSessionStore } from '../../../src/session/store/redis-session-store.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { startRedisCluster } from '../../helpers/redis-cluster.ts'
import { startRedisSentinel } from '../../helpers/redis-sentinel.ts'
import { startRedisServer, type RedisServer } from '../../helpers/redis-server.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

/** A log that nobody reads. */
export const NO_LOG = quietLog()

/** How long the stores of the tests keep an ended session, in ms. */
export const KEEP_MS = 60 * 60_000

/** One variant, empty, with what happens around it. */
export interface SessionStoreFixture {
  /** Another one after `clear` and `loseTail`, where only one process may have the sessions. */
  readonly store: SessionStore
  /** Another client of the same sessions, closed with the fixture; the same where only one process may have them. */
  another (): SessionStore
  /** Lets the store's clock go on. */
  step (ms: number): Promise<void>
  /** Lets the last transition of a session be lost, as in a failover or a power cut; left out where that cannot be. */
  loseTail?: (id: string) => Promise<void>
  /** Ends the process that has the sessions to itself, and begins another; left out where that changes nothing. */
  restart?: () => Promise<void>
  /** Forgets all sessions. */
  clear (): Promise<void>
  /** Ends the store and what it stands on. */
  remove (): Promise<void>
}

export interface SessionStoreVariant {
  readonly title: string
  open (): Promise<SessionStoreFixture>
}

/** Every variant, for suites that hold for all of them. */
export const VARIANTS: readonly SessionStoreVariant[] = [
  { title: 'memory', open: openMemory },
  { title: 'directory', open: openDirectory },
  { title: 'redis', open: openRedis },
  { title: 'redis behind Sentinel', open: openSentinel },
  { title: 'redis cluster', open: openCluster }
]

async function openMemory (): Promise<SessionStoreFixture> {
  let time = Date.now()
  const create = () => createMemorySessionStore({ keep: KEEP_MS, now: () => time })
  let store = create()
  return {
    get store () { return store },
    another: () => store,
    async step (ms) { time += ms },
    async clear () { store = create() },
    remove: () => store.close()
  }
}

async function openDirectory (): Promise<SessionStoreFixture> {
  const folder = await createTemporaryFolder()
  const path = join(folder.path, 'sessions')
  let time = Date.now()
  const create = () => createDirectorySessionStore({ path, keep: KEEP_MS, log: NO_LOG, now: () => time })
  let store = create()
  return {
    get store () { return store },
    another: () => store,
    async step (ms) { time += ms },
    async loseTail (id) {
      await store.close()
      const file = join(path, 'open', `${id}.jsonl`)
      const lines = (await readFile(file, 'utf8')).split('\n')
      await writeFile(file, [...lines.slice(0, -2), ''].join('\n'))
      store = create()
    },
    async restart () {
      await store.close()
      store = create()
    },
    async clear () {
      await store.close()
      await rm(path, { recursive: true, force: true })
      store = create()
    },
    async remove () {
      await store.close()
      await folder.remove()
    }
  }
}

async function openRedis (): Promise<SessionStoreFixture> {
  const server = await startRedisServer()
  return overRedis(server.url, [server], () => server, server.stop)
}

async function openSentinel (): Promise<SessionStoreFixture> {
  const { url, master, stop } = await startRedisSentinel()
  return overRedis(url, [master], () => master, stop)
}

async function openCluster (): Promise<SessionStoreFixture> {
  const { url, masters, masterOf, stop } = await startRedisCluster()
  return overRedis(url, masters, masterOf, stop)
}

/** The keys of a session, or of its shard, as the docs name them. */
export function redisKey (id: string, name: 'log' | 'head' | 'due'): string {
  return `shenma:sessions:{${id[0] ?? ''}}:${name === 'due' ? name : `${id}:${name}`}`
}

function overRedis (url: string, masters: readonly RedisServer[], masterOf: (key: string) => RedisServer, stop: () => Promise<void>): SessionStoreFixture {
  const create = () => createRedisSessionStore({ url, keep: KEEP_MS, log: NO_LOG })
  const [store, other] = [create(), create()]
  return {
    store,
    another: () => other,
    async step (ms) { await Promise.all(masters.map(master => turnForward(master, ms))) },
    async loseTail (id) {
      const log = redisKey(id, 'log')
      const { client } = masterOf(log)
      const [last, before] = await client.xrevrange(log, '+', '-', 'COUNT', 2)
      await client.xdel(log, last?.[0] ?? '')
      await client.call('XSETID', log, before?.[0] ?? '0-0')
    },
    async clear () { for (const { client } of masters) await client.flushall() },
    async remove () {
      await Promise.all([store.close(), other.close()])
      await stop()
    }
  }
}

/** Redis' clock cannot be set: all times that lie ahead come nearer instead. */
async function turnForward ({ client }: RedisServer, ms: number): Promise<void> {
  for (const key of await client.keys('shenma:sessions:*')) {
    if (/:(?:due|ended)$/.test(key)) {
      for (const member of await client.zrange(key, '0', '-1')) await client.zincrby(key, -ms, member)
    }
    if (key.endsWith(':turns')) {
      for (const member of await client.zrange(key, '0', '-1')) {
        const [, turn = '', due, id = ''] = /^(.*)(\d{15})(\w{32})$/s.exec(member) ?? []
        await client.multi().zrem(key, member).zadd(key, 0, `${turn}${String(Number(due) - ms).padStart(15, '0')}${id}`).exec()
      }
    }
    const left = await client.pttl(key)
    if (left >= 0) await (left > ms ? client.pexpire(key, left - ms) : client.del(key))
  }
}
