import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createDirectoryStore } from '../../src/store/directory-store.ts'
import { createMemoryStore } from '../helpers/memory-store.ts'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { startRedisCluster } from '../helpers/redis-cluster.ts'
import { startRedisSentinel } from '../helpers/redis-sentinel.ts'
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

export const KEY_PREFIX = 'shenma:'

/** One variant with a way to write to it, as other programs do. */
export interface StoreFixture {
  readonly store: Store
  set (key: string, value: string | Uint8Array): Promise<void>
  delete (key: string): Promise<void>
  /** Forgets everything that was written. */
  clear (): Promise<void>
  /** Ends the store and what it stands on. */
  remove (): Promise<void>
}

export interface StoreVariant {
  /** How it is told from the others here. */
  readonly title: string
  /** What it calls itself. */
  readonly name: Store['variant']
  readonly pushes: boolean
  open (): Promise<StoreFixture>
}

/** Every variant, for suites that hold for all of them. */
export const VARIANTS: readonly StoreVariant[] = [
  { title: 'memory', name: 'memory', pushes: true, open: openMemory },
  { title: 'directory', name: 'directory', pushes: true, open: openDirectory },
  { title: 'redis', name: 'redis', pushes: true, open: openRedis },
  { title: 'redis behind Sentinel', name: 'redis', pushes: true, open: openSentinel },
  { title: 'redis cluster', name: 'redis', pushes: true, open: openCluster }
]

async function openMemory (): Promise<StoreFixture> {
  const store = createMemoryStore()
  return {
    store,
    set: async (key, value) => store.set(key, value),
    delete: async key => store.delete(key),
    async clear () {
      for (const key of await listAll(store, '')) store.delete(key)
    },
    remove: () => store.close()
  }
}

async function openDirectory (): Promise<StoreFixture> {
  const folder = await createTemporaryFolder()
  const store = await createDirectoryStore({ directory: folder.path, keys: storeKeys(KEY_PREFIX) })
  const fileOf = (key: string): string => join(folder.path, `${key.slice(KEY_PREFIX.length).replaceAll(':', '/')}.json`)
  return {
    store,
    async set (key, value) {
      await mkdir(dirname(fileOf(key)), { recursive: true })
      await writeFile(fileOf(key), value)
    },
    delete: key => rm(fileOf(key)),
    async clear () {
      for (const kind of ['extensions', 'templates', 'environs', 'tools', 'releases', 'versions']) await rm(join(folder.path, kind), { recursive: true, force: true })
    },
    async remove () {
      await store.close()
      await folder.remove()
    }
  }
}

async function openRedis (): Promise<StoreFixture> {
  const server = await startRedisServer()
  return await overRedis(server.url, [server], () => server, server.stop)
}

async function openSentinel (): Promise<StoreFixture> {
  const { url, master, stop } = await startRedisSentinel()
  return await overRedis(url, [master], () => master, stop)
}

async function openCluster (): Promise<StoreFixture> {
  const { url, masters, masterOf, stop } = await startRedisCluster()
  return await overRedis(url, masters, masterOf, stop)
}

async function overRedis (url: string, masters: readonly RedisServer[], masterOf: (key: string) => RedisServer, stop: () => Promise<void>): Promise<StoreFixture> {
  const store = createRedisStore({ keys: storeKeys(), url })
  await waitFor('changes to be pushed', () => store.status().changes === 'pushed')
  return {
    store,
    async set (key, value) { await masterOf(key).client.set(key, Buffer.from(value)) },
    async delete (key) { await masterOf(key).client.del(key) },
    async clear () { for (const { client } of masters) await client.flushall() },
    async remove () {
      await store.close()
      await stop()
    }
  }
}
