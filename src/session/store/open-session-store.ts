import { type Log } from '../../runtime/telemetry.ts'
import { type SessionStore } from './session-store.ts'

export type SessionPlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'directory', readonly path: string }
  /** @see parseRedisUrl */
  | { readonly kind: 'redis', readonly url: string, readonly sentinelPassword?: string, readonly keyPrefix?: string }

const SEVEN_DAYS = 7 * 24 * 60 * 60_000

/** Touches no file and no connection before its first use. An ended session is kept for `keep` ms. @throws SessionStoreError for a bad Redis URL */
export async function openSessionStore (place: SessionPlace, { keep = SEVEN_DAYS, log }: { readonly keep?: number, readonly log: Log }): Promise<SessionStore> {
  // Each kind needs other packages, so only the configured one is loaded.
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
