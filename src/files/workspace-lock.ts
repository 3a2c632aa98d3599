import { setTimeout as delay } from 'node:timers/promises'
import { LockWait, ProcessLock } from '../runtime/process-lock.ts'
import { FileRefusal } from './file-refusal.ts'

/** The interval at which waiting processes try again, in ms. */
const LOOK_MS = 50

/** The error that another process has taken over the lock of a workspace, for example after a long sleep of this process. */
export class LockLost extends Error {
  override readonly name = 'LockLost'
}

/**
 * Runs `use` while no other call of `whileLocked`, in this process or another, changes files of the workspace.
 * @param folder the folder of the workspace's journal
 * @param use gets a function that throws LockLost when the lock was lost, and has to call it before each step
 * @param signal ends the wait for the lock by an abort
 * @throws FileRefusal WORKSPACE_BUSY when the signal has ended the wait
 */
export async function whileLocked<T> (folder: string, signal: AbortSignal, use: (assertHeld: () => void) => Promise<T>): Promise<T> {
  const lock = await waitFor(folder, signal)
  try {
    return await use(() => { if (!lock.isHeld()) throw new LockLost('another process has taken the workspace over') })
  } finally {
    await lock.release().catch(() => {})
  }
}

async function waitFor (folder: string, signal: AbortSignal): Promise<ProcessLock> {
  const wait = new LockWait(folder)
  try {
    for (;;) {
      const lock = await wait.attempt()
      if (lock instanceof ProcessLock) return lock
      await delay(LOOK_MS, undefined, { signal }).catch(() => {
        throw new FileRefusal('WORKSPACE_BUSY', `files of the workspace are being changed by ${lock.description}`)
      })
    }
  } finally {
    wait.end()
  }
}
