import { join } from 'node:path'
import { type Config } from '../../../config/config.ts'
import { type SessionPlace } from '../../../session/store/open-session-store.ts'

/** The place where sessions are kept, by the configuration: in memory, in a folder, or in Redis. */
export function placeOf (config: Config): SessionPlace {
  const { SESSION_STORE: place, STATE_DIR: state, REDIS_URL: redis, REDIS_SENTINEL_PASSWORD: sentinelPassword, KEY_PREFIX: keyPrefix } = config
  const chosen = place === '' ? redis === '' ? join(state, 'sessions') : redis : place
  if (chosen === 'memory') return { kind: 'memory' }
  if (/^rediss?(?:\+\w+)?:/.test(chosen)) return { kind: 'redis', url: chosen, sentinelPassword, keyPrefix }
  return { kind: 'directory', path: chosen }
}
