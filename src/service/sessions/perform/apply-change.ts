import { FileRefusal } from '../../../files/file-refusal.ts'
import { type Workspaces } from '../../../files/workspaces.ts'
import { type ApplyEffect } from '../../../session/model.ts'
import { type Perform } from './performing.ts'
import { type WorkspaceLocks } from './workspace-locks.ts'

/** Changes files of workspaces; what is asked for again under the same id is done once. @param load gives them when the first is used */
export function applyChangeIn (load: () => Promise<Workspaces>, lockOf: WorkspaceLocks): Perform<ApplyEffect> {
  return async ({ session: { id: session }, effect: { id: effect, workspace, change, timeout }, signal }) => {
    const workspaces = await load()
    const ending = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    try {
      return await lockOf(workspace).alone(ending, () => workspaces.apply(workspace, { session, effect, change, signal: ending }))
    } catch (error) {
      throw ending.aborted && error === ending.reason ? new FileRefusal('WORKSPACE_BUSY', 'a command is running in the workspace') : error
    }
  }
}
