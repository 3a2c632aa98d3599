import { type JsonObject } from '../../../base/json.ts'
import { type Executors } from '../../../exec/executors.ts'
import { FileRefusal } from '../../../files/file-refusal.ts'
import { type Workspaces } from '../../../files/workspaces.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { SharedLock } from '../../../runtime/shared-lock.ts'
import { type ApplyEffect, type ReadEffect, type RememberEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Perform } from './performer.ts'

/** The largest file that is read from a target (a machine), in bytes; larger files are left out. */
const MAX_FILE = 256 * 1024

/** The longest time of one read for a session, from a target (a machine) and from a workspace (a folder), in ms. The session can ask for a shorter time. */
const [TARGET_TIMEOUT, WORKSPACE_TIMEOUT] = [5000, 10_000]

/** Gives the workspaces (folders whose files plans change). Their code is loaded at the first call. */
export type LoadWorkspaces = () => Promise<Workspaces>

/** Gives the lock of a workspace, by its name. */
export type WorkspaceLocks = (workspace: string) => SharedLock

/**
 * Makes the locks of workspaces. While files of a workspace are changed, no command of this process runs there: a command could put a link
 * where the change has just checked a path. Several commands can run at once.
 */
export function workspaceLocks (): WorkspaceLocks {
  const locks = new Map<string, SharedLock>()
  return workspace => {
    const lock = locks.get(workspace) ?? new SharedLock()
    locks.set(workspace, lock)
    return lock
  }
}

/** Makes the performer that changes files of workspaces for sessions. If it performs one effect twice, as after a crash, the change is made only once. */
export function changeFilesIn (load: LoadWorkspaces, lockOf: WorkspaceLocks): Perform<ApplyEffect> {
  return async ({ session: { id: session }, effect: { id: effect, workspace, change, together, timeout }, signal }) => {
    const workspaces = await load()
    const ending = timeLimit(signal, timeout)
    try {
      return await lockOf(workspace).alone(ending, () => workspaces.apply(workspace, { session, effect, change, together, signal: ending }))
    } catch (error) {
      return refusalOf(ending.aborted && error === ending.reason ? new FileRefusal('WORKSPACE_BUSY', 'a command is running in the workspace') : error)
    }
  }
}

/** Makes the performer that stores preferences, of the session's owner and of a workspace, which models read later. */
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

/** Makes the performer that reads for a session: files of a target (a machine); or files, logs, preferences, previews and search results of a workspace. */
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

/** Reads files of a target (a machine), one for each request `{ path }`. A file that does not exist, or that cannot be read in time, is left out. */
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

/** Turns the refusal to touch a file (outside of the workspace, say) into a failure of the session's action. @throws any other error unchanged */
function refusalOf (error: unknown): Outcome {
  if (error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
  throw error
}
