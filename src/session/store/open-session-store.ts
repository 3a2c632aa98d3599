import { type Log } from '../../runtime/telemetry.ts'
import { type SessionStore } from './session-store.ts'

/** The place where sessions are stored, as the operator configured it. */
export type SessionPlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'directory', readonly path: string }
  /** Redis, at the URL that the operator configured. @see parseRedisUrl */
  | { readonly kind: 'redis', readonly url: string, readonly sentinelPassword?: string, readonly keyPrefix?: string }

export interface SessionStoreOptions {
  /** How long an ended session is kept, in ms. @default 7 days */
  readonly keep?: number
  readonly log: Log
}

const SEVEN_DAYS = 7 * 24 * 60 * 60_000

/**
 * Opens a session store. The store touches no file and opens no connection before its first use.
 * @throws SessionStoreError when the Redis URL does not have a form that `parseRedisUrl` accepts
 */
export async function openSessionStore (place: SessionPlace, { keep = SEVEN_DAYS, log }: SessionStoreOptions): Promise<SessionStore> {
  // Each kind of store needs other packages, so only the module of the configured kind is loaded.
  switch (place.kind) {
    case 'memory': {
      const { createMemorySessionStore } = await import('./memory-session-store.ts')
      log.warn({}, 'sessions are kept in memory only, and are lost with this process')
      return createMemorySessionStore({ keep })
    }
    case 'directory': {
      const { createDirectorySessionStore } = await import('./directory-session-store.ts')
      return createDirectorySessionStore({ path: place.path, keep, log })
    }
    case 'redis': {
      const { createRedisSessionStore } = await import('./redis-session-store.ts')
      return createRedisSessionStore({ ...place, keep, log })
    }
  }
}
