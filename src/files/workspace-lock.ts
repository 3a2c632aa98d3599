import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, FileRefusal } from './file-refusal.ts'

/**
 * The interval at which the process with a lock refreshes it; the age at which a lock that was not refreshed counts as left by a dead
 * process; and the interval at which waiting processes try again, in ms.
 */
const HEARTBEAT_MS = 1000
const STALE_MS = 5000
const LOOK_MS = 50

/** The error that another process has taken over the lock of a workspace, for example after a long sleep of this process. */
export class LockLost extends Error {
  override readonly name = 'LockLost'
}

/**
 * Runs `use` while no other call of `whileLocked`, in this process or another, changes files of the workspace. If a process is killed while it
 * has the lock, a waiting call gets the lock `STALE_MS` after the process has last refreshed it.
 * @param folder the folder of the workspace's journal
 * @param use gets a function that throws LockLost when the lock was lost, and has to call it before each step
 * @param signal ends the wait for the lock by an abort
 * @throws FileRefusal WORKSPACE_BUSY when the signal has ended the wait
 */
export async function whileLocked<T> (folder: string, signal: AbortSignal, use: (assertHeld: () => void) => Promise<T>): Promise<T> {
  const { lock } = (await import('proper-lockfile')).default
  let isLost = false
  let release: (() => Promise<void>) | undefined
  while (release === undefined) {
    try {
      release = await lock(folder, { lockfilePath: join(folder, 'lock'), stale: STALE_MS, update: HEARTBEAT_MS, onCompromised: () => { isLost = true } })
    } catch (error) {
      if (errorCode(error) !== 'ELOCKED') throw error
      await delay(LOOK_MS, undefined, { signal }).catch(() => {
        throw new FileRefusal('WORKSPACE_BUSY', 'files of the workspace are being changed by somebody else')
      })
    }
  }
  try {
    return await use(() => { if (isLost) throw new LockLost('another process has taken the workspace over') })
  } finally {
    await release().catch(() => {})
  }
}
