import { ServiceError } from '../../../base/errors.ts'
import { patiently } from '../../../session/patiently.ts'
import { ENDED } from '../../../session/model.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** What is needed to end orphans: the store with the heads (summaries) of sessions, and the runner that ends a session. */
interface OrphanServices {
  readonly store: Pick<SessionStore, 'head'>
  readonly runner: Pick<SessionRunner, 'stop'>
}

/**
 * Ends a child session if a session above it has ended or exists no more. A crash in the middle of a cancel can leave such children, so this is
 * checked before each action of a child.
 * @param signal ends the check when nobody waits for the result
 * @returns whether a session above the child has ended or exists no more
 */
export async function stopOrphan (services: OrphanServices, { id, start: { parent } }: Session, signal: AbortSignal): Promise<boolean> {
  const { store, runner } = services
  const heads = await patiently(signal, () => Promise.all((parent?.line ?? []).map(({ session }) => store.head(session))))
  if (heads.every(head => head !== undefined && !ENDED.has(head.status))) return false
  try {
    await runner.stop(id, 'cancel', 'a session above it has ended')
  } catch (error) {
    // The child cannot be stopped yet: the change of files that it is about to make counts as begun. As this function returns true, that change
    // fails, and nothing is written.
    if (!(error instanceof ServiceError)) throw error
  }
  return true
}
