import { type InTurn } from './directory/directory-store.ts'
import { type StoreKeys } from './keys.ts'
import { type Log } from '../base/log.ts'
import { type Store } from './store.ts'

/** The place of the store that the operator has configured: a folder or a Redis. The store holds the entries (prompts, tools …) that programs register. */
export type StorePlace =
  /** `inTurn` keeps the processes of one service from writing into the folder at the same time. Redis needs no such help. */
  | { readonly directory: string, readonly inTurn?: InTurn | undefined }
  /** The URL of a Redis store, in a form that `parseRedisUrl` describes, and the password for its Sentinels. */
  | { readonly redisUrl: string, readonly sentinelPassword: string }

/**
 * Opens the configured store. A store over Redis opens even while Redis is away.
 * @throws StoreError when the URL is not in a form that `parseRedisUrl` describes, or when there is no such folder
 */
export async function openStore (place: StorePlace, keys: StoreKeys, log: Log): Promise<Store> {
  // Each kind of store brings packages of its own, and a start should load only one of them.
  if ('directory' in place) {
    const { createDirectoryStore } = await import('./directory/directory-store.ts')
    return await createDirectoryStore({ directory: place.directory, keys, log, inTurn: place.inTurn })
  }
  const { createRedisStore } = await import('./redis/redis-store.ts')
  return createRedisStore({ url: place.redisUrl, sentinelPassword: place.sentinelPassword, keys, log })
}
