import { randomUUID } from 'node:crypto'
import { createRedisConnection } from './redis-connection.ts'
import { openRedisNodes } from './redis-nodes.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type Log } from '../../base/log.ts'

/** Counters that all replicas of the service share. */
export interface SharedCounters {
  /**
   * Tells how much was counted here so far, and gives what all have counted then; counters that could not be reached are left
   * out. What may have been heard can be told again: it counts once. Never rejects: in a cluster some can be reached while
   * others cannot.
   * @param counts by key; each never becomes less
   * @param lifetime after a counter was told of last, in ms
   */
  report (counts: ReadonlyMap<string, number>, lifetime: number): Promise<ReadonlyMap<string, number>>
  close (): Promise<void>
}

export interface RedisCountersOptions {
  /** The URL in the form of a store's: one Redis, one that Sentinels name, or a cluster. */
  readonly url: string
  /** The password that the Sentinels ask for, if any. */
  readonly sentinelPassword?: string
  readonly log: Log
  /** How long Redis may take to answer, in ms. @default 1000 */
  readonly commandTimeout?: number
}

/**
 * A counter is what each replica has counted, by the replica: a Redis that froze hears later, and in any order, what it did not
 * answer. One command, so that it can be sent after another node in a cluster. `ARGV`: the replica, its count, the lifetime in ms.
 */
const REPORT = `
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local total = 0
for _, count in ipairs(redis.call('HVALS', KEYS[1])) do total = total + count end
return total`

/** Counters in Redis, over connections of their own: a large read of the registry does not hold them up. */
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
