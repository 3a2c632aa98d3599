import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, FileRefusal } from './file-refusal.ts'

/**
 * How often the holder of a lock writes it anew, after which time without that its process counts as dead, and how often
 * others look, in ms.
 */
const HEARTBEAT_MS = 1000
const STALE_MS = 5000
const LOOK_MS = 50

/** Another process has taken a workspace over, as after a long sleep of this one. */
export class LockLost extends Error {
  override readonly name = 'LockLost'
}

/**
 * Runs work while nobody else changes files of the workspace, in this process or another. The lock of a killed process is
 * waited for until the process counts as dead.
 * @param folder of the workspace's journal
 * @param use is given a function that throws LockLost once the lock is lost; `use` calls it before each step
 * @param signal ends the waiting
 * @throws FileRefusal WORKSPACE_BUSY when the waiting was ended
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
