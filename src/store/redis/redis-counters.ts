import { randomUUID } from 'node:crypto'
import { openRedisNodes } from './redis-nodes.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type Log } from '../../runtime/telemetry.ts'

export interface SharedCounters {
  /** Sums over all replicas; a repeated report counts once. Never rejects: some nodes can be out of reach. `lifetime` in ms. */
  report (counts: ReadonlyMap<string, number>, lifetime: number): Promise<ReadonlyMap<string, number>>
  close (): Promise<void>
}

/** One field for each replica, so late or repeated reports count once. `ARGV`: the replica, its count, the lifetime in ms. */
const REPORT = `
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local total = 0
for _, count in ipairs(redis.call('HVALS', KEYS[1])) do total = total + count end
return total`

/** Has connections of its own, so that a large read of the registry does not delay it. */
export function createRedisCounters ({ url, sentinelPassword, log, commandTimeout = 1000 }: {
  readonly url: string
  readonly sentinelPassword?: string
  readonly log: Log
  /** In ms. @default 1000 */
  readonly commandTimeout?: number
}): SharedCounters {
  const nodes = openRedisNodes(parseRedisUrl(url, sentinelPassword), commandTimeout, log)
  const replica = randomUUID()
  const reportOne = (key: string, count: number, lifetime: number) =>
    nodes.ask(key, async client => [key, Number(await client.eval(REPORT, 1, key, replica, count, lifetime))] as const)
  return {
    async report (counts, lifetime) {
      const outcomes = await Promise.allSettled(Array.from(counts, ([key, count]) => reportOne(key, count, lifetime)))
      return new Map(outcomes.flatMap(outcome => outcome.status === 'fulfilled' ? [outcome.value] : []))
    },
    close: () => nodes.close()
  }
}
