import { type JsonObject } from '../../../base/json.ts'
import { type Executors } from '../../../exec/executors.ts'
import { FileRefusal } from '../../../files/file-refusal.ts'
import { type Workspaces } from '../../../files/workspaces.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { SharedLock } from '../../../runtime/shared-lock.ts'
import { type ApplyEffect, type ReadEffect, type RememberEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform } from './performer.ts'

/** The longest file that is read from a target, in bytes; longer ones are left out. */
const MAX_FILE = 256 * 1024

/** The longest time in which one effect reads from a target, and from a workspace, in ms. An effect's own timeout may be shorter. */
const [TARGET_TIMEOUT, WORKSPACE_TIMEOUT] = [5000, 10_000]

/** Gives the workspaces. What they need is loaded when the first effect uses one. */
export type LoadWorkspaces = () => Promise<Workspaces>

/** The lock of each workspace, by its name. */
export type WorkspaceLocks = (workspace: string) => SharedLock

/**
 * Makes the locks of workspaces. They keep commands from running during a change of files in this process: a command could put a link
 * where the change has just checked a path. Several commands may run at once.
 */
export function workspaceLocks (): WorkspaceLocks {
  const locks = new Map<string, SharedLock>()
  return workspace => {
    const lock = locks.get(workspace) ?? new SharedLock()
    locks.set(workspace, lock)
    return lock
  }
}

/** Changes files of workspaces. An effect that is performed again under the same id is done once. */
export function changeFilesIn (load: LoadWorkspaces, lockOf: WorkspaceLocks): Perform<ApplyEffect> {
  return async ({ session: { id: session }, effect: { id: effect, workspace, change, timeout }, signal }) => {
    const workspaces = await load()
    const ending = timeLimit(signal, timeout)
    try {
      return await lockOf(workspace).alone(ending, () => workspaces.apply(workspace, { session, effect, change, signal: ending }))
    } catch (error) {
      return refusalOf(ending.aborted && error === ending.reason ? new FileRefusal('WORKSPACE_BUSY', 'a command is running in the workspace') : error)
    }
  }
}

/** Stores preferences of the session's owner and of a workspace. */
export function rememberIn (load: LoadWorkspaces): Perform<RememberEffect> {
  return async ({ session: { start: { owner } }, effect: { workspace, patch, timeout }, signal }) => {
    const workspaces = await load()
    try {
      return { kind: 'result', result: await workspaces.remember(workspace, patch, { owner, signal: timeLimit(signal, timeout) }) }
    } catch (error) {
      return refusalOf(error)
    }
  }
}

/** Reads what an effect asks for: files of a target; or files, logs, memory, previews and search results of a workspace. */
export function readFilesOf (executors: Executors, load: LoadWorkspaces): Perform<ReadEffect> {
  return async ({ session: { id: session, start }, effect: { from, requests, timeout }, signal }) => {
    if ('target' in from) return await readTarget(executors, from.target, requests, timeLimit(signal, Math.min(timeout, TARGET_TIMEOUT)))
    const workspaces = await load()
    const limit = timeLimit(signal, Math.min(timeout, WORKSPACE_TIMEOUT))
    try {
      return { kind: 'result', result: { blocks: await workspaces.read(from.workspace, requests, { session, owner: start.owner, signal: limit }) } }
    } catch (error) {
      return refusalOf(error)
    }
  }
}

/** Reads files of a target: `{ path }` each. A file that is not there, or cannot be read in time, is left out. */
async function readTarget (executors: Executors, target: string, requests: readonly JsonObject[], limit: AbortSignal): Promise<Outcome> {
  const executor = await executors.ofTarget(target)
  if (executor === undefined) return { kind: 'failure', code: 'TARGET_UNKNOWN', message: `the operator of this service offers no target "${target}"` }
  const files: JsonObject[] = []
  for (const { path } of requests) {
    const text = typeof path === 'string' && !limit.aborted ? await executor.readText(path, MAX_FILE, limit).catch(() => undefined) : undefined
    if (text !== undefined) files.push({ path: path as string, text })
  }
  return { kind: 'result', result: { files } }
}

/** The outcome of an operation that the guard of files refuses. @throws every other error as it is */
function refusalOf (error: unknown): Outcome {
  if (error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
  throw error
}
