import { type Workspaces } from '../../../files/workspaces.ts'
import { type RememberEffect } from '../../../session/model.ts'
import { type Perform } from './performing.ts'

/** Remembers preferences of the session's owner and of a workspace. @param load gives them when the first is used */
export function rememberIn (load: () => Promise<Workspaces>): Perform<RememberEffect> {
  return async ({ session: { start: { owner } }, effect: { workspace, patch, timeout }, signal }) => {
    const workspaces = await load()
    return { kind: 'result', result: await workspaces.remember(workspace, patch, { owner, signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]) }) }
  }
}
