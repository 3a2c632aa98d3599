import { type Redis } from 'ioredis'
import { type ChangeListener } from './gather.ts'
import { createRedisClusterStore } from './redis-cluster-store.ts'
import { createRedisConnection } from './redis-connection.ts'
import { listKeys } from './redis-list.ts'
import { readValues, type NodeValue } from './redis-read.ts'
import { removeValue, writeValue } from './redis-write.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type StoreLog } from './store-log.ts'
import { StoreError, type Store, type StoredValue } from './store.ts'

export interface RedisStoreOptions {
  /** One Redis, one that Sentinels name, or a cluster: `parseRedisUrl` says how. */
  readonly url: string
  /** What the Sentinels ask for, if anything. */
  readonly sentinelPassword?: string
  /**
   * How long Redis may take to answer, in ms; a frozen one would be waited for without end.
   * @default 2000
   */
  readonly commandTimeout?: number
  readonly log?: StoreLog
}

/**
 * Creates a store over Redis. It connects in the background, so it succeeds while Redis is away.
 * @throws StoreError when the URL has another shape
 */
export function createRedisStore ({ url, sentinelPassword, commandTimeout = 2000, log }: RedisStoreOptions): Store {
  const place = parseRedisUrl(url, sentinelPassword)
  if (place.kind === 'cluster') return createRedisClusterStore(place, commandTimeout, log)
  const { target } = place
  const connection = createRedisConnection(target, commandTimeout, log)
  const { client } = connection
  const listeners = new Set<ChangeListener>()
  let isKnownToBeWhole = false

  client.on('ready', () => {
    isKnownToBeWhole = false
    for (const listener of listeners) listener(undefined)
  })

  /**
   * The nodes that hold all keys together. One node of a Redis Cluster lists its own share without an error, so its mode is
   * asked once per connection.
   */
  async function wholeNodes (): Promise<readonly Redis[]> {
    if (isKnownToBeWhole) return [client]
    if (await isClusterNode(client)) throw new StoreError(`Redis at ${target.address} is a node of a Redis Cluster and holds only a part of the keys`)
    isKnownToBeWhole = true
    return [client]
  }

  function notElsewhere (value: NodeValue): StoredValue {
    if (value.kind === 'redirected') throw new StoreError(`Redis at ${target.address} is a node of a Redis Cluster, and was asked as a single Redis`)
    return value
  }

  return {
    variant: 'redis',
    list: prefix => connection.ask(async () => {
      const keys = new Set<string>()
      for (const node of await wholeNodes()) {
        for (const key of await listKeys(node, prefix)) keys.add(key)
      }
      return [...keys]
    }),
    read: async keys => keys.length === 0 ? [] : await connection.ask(async () => (await readValues(client, keys)).map(notElsewhere)),
    write: (key, text, expected) => connection.ask(() => writeValue(client, key, text, expected)),
    remove: (key, expected) => connection.ask(() => removeValue(client, key, expected)),
    async watch (listener) {
      listeners.add(listener)
      return async () => { listeners.delete(listener) }
    },
    status () {
      const problem = connection.problem()
      return { connected: connection.isConnected(), changes: 'polled', ...(problem === undefined ? {} : { problem }) }
    },
    close () {
      listeners.clear()
      return connection.close()
    }
  }
}

async function isClusterNode (client: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(await client.info('cluster'))
  } catch (error) {
    // A user who may not ask for INFO is not kept from a plain Redis.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false
    throw error
  }
}
