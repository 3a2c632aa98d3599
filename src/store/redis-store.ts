import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { KINDS, kindPrefix } from './keys.ts'
import { createCompanion, type RedisClient } from './redis-client.ts'
import { createRedisConnection } from './redis-connection.ts'
import { scanNode } from './redis-list.ts'
import { mastersOf } from './redis-nodes.ts'
import { describeRedisError } from './redis-problem.ts'
import { createRedisPush } from './redis-push.ts'
import { keysExist, readValues } from './redis-read.ts'
import { parseRedisUrl, type RedisTarget } from './redis-url.ts'
import { removeValue, writeValue } from './redis-write.ts'
import { type StoreLog } from './store-log.ts'
import { StoreError, type Store } from './store.ts'

export interface RedisStoreOptions {
  /** `redis://[user:password@]host[:port][/database]`, `redis+cluster://…`, `redis+sentinel://…`; with `rediss` for TLS. */
  readonly url: string
  /** What the keys begin with whose changes are told. @default `shenma:` */
  readonly keyPrefix?: string
  /**
   * How long Redis may take to answer, in ms; a frozen one would be waited for without end.
   * @default 2000
   */
  readonly commandTimeout?: number
  readonly log?: StoreLog
}

/**
 * Creates a store over one Redis, over the master that sentinels name, or over a cluster. It connects in the background,
 * so it succeeds while Redis is away.
 * @throws StoreError when the URL has another shape
 */
export function createRedisStore ({ url, keyPrefix = 'shenma:', commandTimeout = 2000, log }: RedisStoreOptions): Store {
  const target = parseRedisUrl(url)
  const connection = createRedisConnection(target, commandTimeout, log)
  const { client, ask } = connection
  const push = createRedisPush({
    client,
    address: target.address,
    prefixes: KINDS.map(kind => kindPrefix(keyPrefix, kind)),
    createListener: node => createCompanion(node, target, commandTimeout),
    ask,
    describe: error => describeRedisError(error, target),
    log
  })
  const wholeNodes = wholeNodesOf(client, target)

  return {
    variant: 'redis',
    async * scan (prefix) {
      const batches = scanAll(wholeNodes, prefix)
      for (let step = await ask(() => batches.next()); step.done !== true; step = await ask(() => batches.next())) yield step.value
    },
    read: async keys => keys.length === 0 ? [] : await ask(() => readValues(client, keys)),
    has: async keys => keys.length === 0 ? [] : await ask(() => keysExist(client, keys)),
    write: (key, text, expected) => ask(() => writeValue(client, key, text, expected)),
    remove: (key, expected) => ask(() => removeValue(client, key, expected)),
    async watch (listener) {
      // So that a first listing is not followed by a second one because changes are pushed meanwhile.
      await Promise.race([push.settled, delay(commandTimeout, undefined, { ref: false })])
      const stop = push.watch(listener)
      return async () => stop()
    },
    status () {
      const problem = connection.problem()
      return { connected: connection.isConnected(), changes: push.changes(), ...(problem === undefined ? {} : { problem }) }
    },
    async close () {
      push.close()
      await connection.close()
    }
  }
}

async function * scanAll (wholeNodes: () => Promise<readonly Redis[]>, prefix: string): AsyncGenerator<readonly string[]> {
  for (const node of await wholeNodes()) yield * scanNode(node, prefix)
}

/**
 * Gives the nodes that hold all keys together. One node of a Redis Cluster lists its own share without an error, so its
 * mode is asked once per connection.
 */
function wholeNodesOf (client: RedisClient, target: RedisTarget): () => Promise<readonly Redis[]> {
  let isKnownToBeWhole = false
  client.on('ready', () => { isKnownToBeWhole = false })
  return async () => {
    if (client instanceof Redis && !isKnownToBeWhole) {
      if (await isClusterNode(client)) throw new StoreError(`Redis at ${target.address} is a node of a Redis Cluster and holds only a part of the keys; name it as redis+cluster://`)
      isKnownToBeWhole = true
    }
    return mastersOf(client)
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
