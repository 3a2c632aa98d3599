import { SharedLock } from '../../../runtime/shared-lock.ts'

/** The lock of each workspace, by its name. */
export type WorkspaceLocks = (workspace: string) => SharedLock

/**
 * Keeps commands and changes of files apart, within this process: a command could put a link where a change has just looked.
 * Commands run beside each other.
 */
export function workspaceLocks (): WorkspaceLocks {
  const locks = new Map<string, SharedLock>()
  return workspace => {
    const lock = locks.get(workspace) ?? new SharedLock()
    locks.set(workspace, lock)
    return lock
  }
}
