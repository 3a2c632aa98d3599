import { ServiceError } from '../../../base/errors.ts'
import { patiently } from '../../../session/patiently.ts'
import { ENDED } from '../../../session/model.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** The store that the heads of sessions are read from, and the runner that ends a session. */
interface OrphanServices {
  readonly store: Pick<SessionStore, 'head'>
  readonly runner: Pick<SessionRunner, 'stop'>
}

/**
 * Ends a child session when a session above it has ended. A crash in the middle of a cancel leaves such children, so every
 * child looks up its line of parents before it does something.
 * @param signal aborts when nobody wants to know any more
 * @returns whether a session above the child has ended
 */
export async function stopOrphan (services: OrphanServices, { id, start: { parent } }: Session, signal: AbortSignal): Promise<boolean> {
  const { store, runner } = services
  const heads = await patiently(signal, () => Promise.all((parent?.line ?? []).map(({ session }) => store.head(session))))
  if (heads.every(head => head !== undefined && !ENDED.has(head.status))) return false
  try {
    await runner.stop(id, 'cancel', 'a session above it has ended')
  } catch (error) {
    // What was about to be written counts as begun: it fails, and nothing is written.
    if (!(error instanceof ServiceError)) throw error
  }
  return true
}
