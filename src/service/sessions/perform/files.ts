import { type JsonObject } from '../../../base/json.ts'
import { type Executors } from '../../../exec/executors.ts'
import { FileRefusal } from '../../../files/file-refusal.ts'
import { type Workspaces } from '../../../files/workspaces.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { SharedLock } from '../../../runtime/shared-lock.ts'
import { type ApplyEffect, type ReadEffect, type RememberEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform } from './performer.ts'

/** Longer files of targets are left out, in bytes. */
const MAX_FILE = 256 * 1024

/** Time for all that one effect reads of a target or of a workspace, in ms, when the effect has no less. */
const [TARGET_TIMEOUT, WORKSPACE_TIMEOUT] = [5000, 10_000]

/** Gives the workspaces. What they need is loaded when the first effect uses one. */
export type LoadWorkspaces = () => Promise<Workspaces>

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

/** Changes files of workspaces. A change that is asked for again under the same id is done once. */
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

/** Remembers preferences of the session's owner and of a workspace. */
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

/** Reads from where an effect says: files of a target; files, logs, memory and previews of a workspace, in which it searches too. */
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

/** What the guard of files refuses, as an outcome. @throws all else, as it is */
function refusalOf (error: unknown): Outcome {
  if (error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
  throw error
}
