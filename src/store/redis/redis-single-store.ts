import { type Redis } from 'ioredis'
import { type RedisConnection } from './redis-connection.ts'
import { type RedisPush } from './redis-push.ts'
import { isRedirected, keysExist, readValues, type Redirected } from './redis-read.ts'
import { scanNode } from './redis-scan.ts'
import { removeValue, writeValue } from './redis-write.ts'
import { StoreError, type Store } from '../store.ts'

/** Creates a store over one Redis, or over the master that Sentinels name. The store owns `connection` and `push`, and closes them. */
export function createRedisSingleStore (connection: RedisConnection, push: RedisPush): Store {
  const { client, ask, target: { address } } = connection
  let isKnownToBeWhole = false
  client.on('ready', () => { isKnownToBeWhole = false })
  push.follow([connection])

  /**
   * Checks that the server is not a node of a Redis Cluster, which would list only its own share of the keys, without an error. The server is asked
   * once for each connection.
   */
  async function assertWhole (): Promise<void> {
    if (isKnownToBeWhole) return
    if (await isClusterNode(client)) {
      throw new StoreError(`Redis at ${address} is a node of a Redis Cluster and holds only a part of the keys; name it as redis+cluster://`)
    }
    isKnownToBeWhole = true
  }

  function notElsewhere<T> (answer: T | Redirected): T {
    if (isRedirected(answer)) throw new StoreError(`Redis at ${address} is a node of a Redis Cluster, and was asked as a single Redis`)
    return answer
  }

  return {
    variant: 'redis',
    async * scan (prefix) {
      await ask(assertWhole)
      yield * scanNode(connection, prefix)
    },
    read: async keys => keys.length === 0 ? [] : await ask(async () => (await readValues(client, keys)).map(notElsewhere)),
    has: async keys => keys.length === 0 ? [] : await ask(async () => (await keysExist(client, keys)).map(notElsewhere)),
    write: (key, text, expected) => ask(() => writeValue(client, key, text, expected)),
    remove: (key, expected) => ask(() => removeValue(client, key, expected)),
    watch: push.watch,
    status () {
      const problem = connection.problem()
      return { connected: connection.isConnected(), changes: push.changes(), ...(problem === undefined ? {} : { problem }) }
    },
    close () {
      push.close()
      return connection.close()
    }
  }
}

async function isClusterNode (client: Redis): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(await client.info('cluster'))
  } catch (error) {
    // A user without the right to INFO can still use a Redis that is not part of a cluster.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return false
    throw error
  }
}
