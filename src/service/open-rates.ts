import { Rates } from '../access/rates.ts'
import { type Log } from '../base/log.ts'
import { asksForTokens, type Config } from '../config/config.ts'
import { type SharedCounters } from '../store/redis/redis-counters.ts'

/** Opens the counts of what callers use. Replicas that share a Redis count together there. */
export async function openRates (config: Config, log: Log): Promise<Rates> {
  return new Rates({ shared: await openCounters(config, log), prefix: `${config.KEY_PREFIX}rates:counts:` })
}

/** Opens the counters in Redis; `undefined` without a Redis, and without tokens, whose limits are counted. */
async function openCounters (config: Config, log: Log): Promise<SharedCounters | undefined> {
  if (config.REDIS_URL === '' || !asksForTokens(config)) return undefined
  const { createRedisCounters } = await import('../store/redis/redis-counters.ts')
  return createRedisCounters({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log })
}
