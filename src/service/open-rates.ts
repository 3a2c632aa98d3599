import { Rates } from '../access/rates.ts'
import { type Log } from '../base/log.ts'
import { asksForTokens, type Config } from '../config/config.ts'
import { type SharedCounters } from '../store/redis/redis-counters.ts'

/** Opens the counters of the requests and tokens that each caller uses. Replicas that share a Redis share the counts. */
export async function openRates (config: Config, log: Log): Promise<Rates> {
  return new Rates({ shared: await openCounters(config, log), prefix: `${config.KEY_PREFIX}rates:counts:` })
}

/** Opens the counters in Redis; `undefined` if no Redis is configured, or if the service has no API tokens: only these have limits that are counted. */
async function openCounters (config: Config, log: Log): Promise<SharedCounters | undefined> {
  if (config.REDIS_URL === '' || !asksForTokens(config)) return undefined
  const { createRedisCounters } = await import('../store/redis/redis-counters.ts')
  return createRedisCounters({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log })
}
