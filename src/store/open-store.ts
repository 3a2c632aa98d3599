import { type InTurn } from './directory/directory-store.ts'
import { type StoreKeys } from './keys.ts'
import { type Log } from '../base/log.ts'
import { type Store } from './store.ts'

/** The place of the registrations that the operator has configured. */
export type StorePlace =
  /** `inTurn` keeps the processes of one service from writing into the folder at the same time. Redis does that by itself. */
  | { readonly directory: string, readonly inTurn?: InTurn | undefined }
  /** @see parseRedisUrl */
  | { readonly redisUrl: string, readonly sentinelPassword: string }

/**
 * Opens a store. A store over Redis opens even while Redis is away.
 * @throws StoreError when the URL has another shape, or when there is no such folder
 */
export async function openStore (place: StorePlace, keys: StoreKeys, log: Log): Promise<Store> {
  // Each variant brings packages of its own, and a start pays for one of them only.
  if ('directory' in place) {
    const { createDirectoryStore } = await import('./directory/directory-store.ts')
    return await createDirectoryStore({ directory: place.directory, keys, log, inTurn: place.inTurn })
  }
  const { createRedisStore } = await import('./redis/redis-store.ts')
  return createRedisStore({ url: place.redisUrl, sentinelPassword: place.sentinelPassword, keys, log })
}
