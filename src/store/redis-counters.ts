import { type Redis } from 'ioredis'
import { changeInCluster } from './redis-cluster-write.ts'
import { RedisCluster } from './redis-cluster.ts'
import { createRedisConnection, type RedisConnection } from './redis-connection.ts'
import { parseRedisUrl, type RedisTarget } from './redis-url.ts'
import { type StoreLog } from './store-log.ts'

/** Counters that all replicas of the service share. */
export interface SharedCounters {
  /**
   * Adds to counters, and gives what they are at then; those that could not be reached are left out. Never rejects: in a
   * cluster some can be reached while others cannot.
   * @param amounts by key
   * @param lifetime after the last addition, in ms
   */
  add (amounts: ReadonlyMap<string, number>, lifetime: number): Promise<ReadonlyMap<string, number>>
  close (): Promise<void>
}

export interface RedisCountersOptions {
  /** As of a store: one Redis, one that Sentinels name, or a cluster. */
  readonly url: string
  /** What the Sentinels ask for, if anything. */
  readonly sentinelPassword?: string
  readonly log: StoreLog
  /** How long Redis may take to answer, in ms. @default 1000 */
  readonly commandTimeout?: number
}

/** Changes one key on the node that has it. */
interface Nodes {
  change<T> (key: string, change: (node: Redis) => Promise<T>): Promise<T>
  close (): Promise<void>
}

/** One command, so that it can be sent after another node in a cluster. `ARGV`: the amount and the lifetime in ms. */
const ADD = `
local total = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return total`

/** Counters in Redis, over connections of their own: a large read of the registry does not hold them up. */
export function createRedisCounters ({ url, sentinelPassword, log, commandTimeout = 1000 }: RedisCountersOptions): SharedCounters {
  const place = parseRedisUrl(url, sentinelPassword)
  const connect = (target: RedisTarget) => createRedisConnection(target, commandTimeout, log)
  const nodes = place.kind === 'single' ? overOne(connect(place.target)) : overCluster(new RedisCluster(place, connect, () => {}))
  const addOne = (key: string, amount: number, lifetime: number) =>
    nodes.change(key, async node => [key, Number(await node.eval(ADD, 1, key, amount, lifetime))] as const)
  return {
    async add (amounts, lifetime) {
      const outcomes = await Promise.allSettled(Array.from(amounts, ([key, amount]) => addOne(key, amount, lifetime)))
      return new Map(outcomes.flatMap(outcome => outcome.status === 'fulfilled' ? [outcome.value] : []))
    },
    close: () => nodes.close()
  }
}

function overOne ({ client, ask, close }: RedisConnection): Nodes {
  return { change: (_key, change) => ask(() => change(client)), close }
}

function overCluster (cluster: RedisCluster): Nodes {
  return {
    async change (key, change) {
      try {
        return await changeInCluster(cluster, key, change)
      } catch (error) {
        // Another node may have taken over; the next change finds it.
        await cluster.look().catch(() => {})
        throw error
      }
    },
    close: () => cluster.close()
  }
}
