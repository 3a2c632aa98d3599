import { kindPrefix, type StoreKeys } from '../keys.ts'
import { createRedisClusterStore } from './redis-cluster-store.ts'
import { createRedisConnection } from './redis-connection.ts'
import { createRedisPush } from './redis-push.ts'
import { createRedisSingleStore } from './redis-single-store.ts'
import { parseRedisUrl } from './redis-url.ts'
import { type Log } from '../../base/log.ts'
import { type Store } from '../store.ts'

export interface RedisStoreOptions {
  /** The URL of one Redis, of a master that Sentinels name, or of a cluster; `parseRedisUrl` describes its forms. */
  readonly url: string
  /** The password that the Sentinels ask for, if any. */
  readonly sentinelPassword?: string
  /** The keys that are read and whose changes are reported. */
  readonly keys: StoreKeys
  /** The longest wait for an answer of Redis, in ms. Without a limit, a frozen Redis would never let a read end. @default 2000 */
  readonly commandTimeout?: number
  readonly log?: Log
}

/** Creates a store over Redis, also while Redis is away: it connects in the background. @throws StoreError when `parseRedisUrl` refuses the URL */
export function createRedisStore ({ url, sentinelPassword, keys, commandTimeout = 2000, log }: RedisStoreOptions): Store {
  const place = parseRedisUrl(url, sentinelPassword)
  const push = createRedisPush({ prefixes: keys.kinds.map(({ key }) => kindPrefix(keys.prefix, key)), patience: commandTimeout, log })
  if (place.kind === 'single') return createRedisSingleStore(createRedisConnection(place.target, commandTimeout, log), push)
  return createRedisClusterStore(place, target => createRedisConnection(target, commandTimeout, log), push)
}
