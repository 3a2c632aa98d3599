import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SessionStoreError } from '../../session-store.ts'

/** How often the lock is made fresh, and after which time without that its process counts as dead, in ms. */
const HEARTBEAT_MS = 1000
const STALE_MS = 5000

/** How often a lock that another process has is looked at, in ms. */
const LOOK_MS = 200

/**
 * Makes this process the only one that uses a folder, until it ends. A heartbeat works between containers too, where the
 * number of a process says nothing. After a kill the next process waits until the heart has stopped for `STALE_MS`.
 * @param onLost told when another process has taken the folder over, as after a long sleep
 * @returns gives the folder back
 * @throws SessionStoreError when another process lives that uses it
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

/** When the heart of a lock has beaten last; undefined without a lock. */
async function heartbeat (lockfilePath: string): Promise<number | undefined> {
  return await stat(lockfilePath).then(({ mtimeMs }) => mtimeMs, () => undefined)
}
