import { randomUUID } from 'node:crypto'
import { createRedisConnection } from './redis-connection.ts'
import { openRedisNodes } from './cluster-nodes.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type Log } from '../../runtime/telemetry.ts'

/** Counters that all replicas of the service share, such as those of calls within a limit. */
export interface SharedCounters {
  /**
   * Reports what this replica has counted so far, and gives the sums over all replicas; counters that could not be reached are left out. Reporting a
   * count again does no harm: it counts once. Never rejects, because some nodes of a cluster can be reached while others cannot.
   * @param counts the counts by key; each never becomes less
   * @param lifetime how long a counter is kept after its last report, in ms
   */
  report (counts: ReadonlyMap<string, number>, lifetime: number): Promise<ReadonlyMap<string, number>>
  close (): Promise<void>
}

export interface RedisCountersOptions {
  /** The URL of one Redis, of a master that Sentinels name, or of a cluster, in the form of a store's URL. */
  readonly url: string
  /** The password that the Sentinels ask for, if any. */
  readonly sentinelPassword?: string
  readonly log: Log
  /** The longest wait for an answer of Redis, in ms. @default 1000 */
  readonly commandTimeout?: number
}

/**
 * The Lua script that reports a count. A counter is a hash with one field for each replica: reports can arrive late or in any order, after Redis was
 * frozen, and still count once. It is one command, so that it can be sent again to another node of a cluster. `ARGV`: the replica, its count, the
 * lifetime in ms.
 */
const REPORT = `
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local total = 0
for _, count in ipairs(redis.call('HVALS', KEYS[1])) do total = total + count end
return total`

/** Makes the shared counters in Redis. They have connections of their own, so that a large read of the registry does not delay them. */
export function createRedisCounters ({ url, sentinelPassword, log, commandTimeout = 1000 }: RedisCountersOptions): SharedCounters {
  const nodes = openRedisNodes(parseRedisUrl(url, sentinelPassword), target => createRedisConnection(target, commandTimeout, log))
  const replica = randomUUID()
  const reportOne = (key: string, count: number, lifetime: number) =>
    nodes.ask(key, async node => [key, Number(await node.eval(REPORT, 1, key, replica, count, lifetime))] as const)
  return {
    async report (counts, lifetime) {
      const outcomes = await Promise.allSettled(Array.from(counts, ([key, count]) => reportOne(key, count, lifetime)))
      return new Map(outcomes.flatMap(outcome => outcome.status === 'fulfilled' ? [outcome.value] : []))
    },
    close: () => nodes.close()
  }
}
