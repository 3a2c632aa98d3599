import { type InTurn } from './directory-store.ts'
import { type StoreLog } from './store-log.ts'
import { StoreError, type Store } from './store.ts'

/** What the operator has configured. */
export interface OpenStoreOptions {
  /** Takes precedence: the folder has a default, Redis is always meant. */
  readonly redisUrl?: string
  readonly sentinelPassword?: string
  readonly directory?: string
  /** What every key begins with: `shenma:`. */
  readonly keyPrefix: string
  readonly log?: StoreLog
  /** Keeps the processes of one service from writing into a folder at the same time; Redis does that itself. */
  readonly inTurn?: InTurn | undefined
}

/**
 * Opens the store that is configured. One over Redis opens also while Redis is away.
 * @throws StoreError when nothing is configured, the URL has another shape, or there is no such folder
 */
export async function openStore ({ redisUrl, sentinelPassword = '', directory, keyPrefix, log, inTurn }: OpenStoreOptions): Promise<Store> {
  const logged = log === undefined ? {} : { log }
  // Each variant brings packages of its own, and a start pays for one of them only.
  if (redisUrl !== undefined) {
    const { createRedisStore } = await import('./redis-store.ts')
    return createRedisStore({ url: redisUrl, sentinelPassword, keyPrefix, ...logged })
  }
  if (directory !== undefined) {
    const { createDirectoryStore } = await import('./directory-store.ts')
    return await createDirectoryStore({ directory, keyPrefix, inTurn, ...logged })
  }
  throw new StoreError('no store is configured: set REDIS_URL or STORE_DIR')
}
