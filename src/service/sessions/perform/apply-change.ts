import { type Workspaces } from '../../../files/workspaces.ts'
import { type ApplyEffect } from '../../../session/model.ts'
import { type Perform } from './performing.ts'

/** Changes files of workspaces; what is asked for again under the same id is done once. @param load gives them when the first is used */
export function applyChangeIn (load: () => Promise<Workspaces>): Perform<ApplyEffect> {
  return async ({ session: { id: session }, effect: { id: effect, workspace, change, timeout }, signal }) => {
    const workspaces = await load()
    return await workspaces.apply(workspace, { session, effect, change, signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]) })
  }
}
