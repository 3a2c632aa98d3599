import { type Workspaces } from '../../../files/workspaces.ts'
import { type Perform } from './performing.ts'
import { type ReadFrom } from './read.ts'

/** Time for all that one effect reads, in ms, when the effect has no less. */
const TIMEOUT = 10_000

/** Reads files, logs, memory and previews of workspaces, and searches in them. @param load gives them when the first is used */
export function readWorkspaceOf (load: () => Promise<Workspaces>): Perform<ReadFrom<'workspace'>> {
  return async ({ session: { id: session, start: { owner } }, effect: { from, requests, timeout }, signal }) => {
    const workspaces = await load()
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeout, TIMEOUT))])
    return { kind: 'result', result: { blocks: await workspaces.read(from.workspace, requests, { session, owner, signal: limit }) } }
  }
}
