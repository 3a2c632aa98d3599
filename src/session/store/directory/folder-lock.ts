import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SessionStoreError } from '../../session-store.ts'

/** The interval at which a process refreshes its lock, and the time without a refresh after which the lock's process counts as dead, in ms. */
const HEARTBEAT_MS = 1000
const STALE_MS = 5000

/** While another process holds the lock: the interval at which this process checks whether the other one still refreshes the lock, in ms. */
const LOOK_MS = 200

/**
 * Locks a folder, so that only this process uses it. The lock is a file whose time is refreshed at intervals. This works between containers too,
 * where a process id says nothing. When a process was killed, the next process waits until nobody has refreshed the lock for `STALE_MS`.
 * @param onLost called when another process has taken the folder over, for example after a long sleep of this machine
 * @returns a function that releases the lock
 * @throws SessionStoreError when a living process holds the lock
 */
export async function lockFolder (folder: string, onLost: () => void): Promise<() => Promise<void>> {
  const { lock } = (await import('proper-lockfile')).default
  const lockfilePath = join(folder, 'lock')
  const beat = await heartbeat(lockfilePath)
  for (;;) {
    try {
      return await lock(folder, { lockfilePath, stale: STALE_MS, update: HEARTBEAT_MS, onCompromised: onLost })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ELOCKED')) throw error
    }
    const now = await heartbeat(lockfilePath)
    if (now !== undefined && now !== beat) throw new SessionStoreError(`another process uses the folder ${folder}; sessions in a folder belong to one process`)
    await delay(LOOK_MS)
  }
}

/** When a lock was refreshed last, in ms since 1970; undefined without a lock. */
async function heartbeat (lockfilePath: string): Promise<number | undefined> {
  return await stat(lockfilePath).then(({ mtimeMs }) => mtimeMs, () => undefined)
}
