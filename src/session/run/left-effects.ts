import { ENDED, type Fact } from '../model.ts'
import { type Performer } from '../performer.ts'
import { driverOf, isWaiting, type OpenEffect, openIn, owedNow, type Session } from '../session.ts'
import { type RunningEffects } from './running-effects.ts'

/**
 * What a replica (service process) knows when it recovers a session: whether another replica perhaps still drives the session (performs its
 * effects), and which effects run in this process.
 */
export interface Knowledge {
  /** The id of the replica that recovers the session. */
  readonly replica: string
  /** Whether the store gave the session to this replica because it was due. A replica that had begun effects of the session has then stopped. */
  readonly isTaken: boolean
  /** Whether this process has to perform the session's effects, because the session's commands run in a terminal of this process. */
  readonly isHere: boolean
  readonly running: Pick<RunningEffects, 'has' | 'wasPerformed'>
  readonly isRepeatable: Performer['isRepeatable']
}

/**
 * The next fact to write when a session is recovered; `undefined` when there is nothing to do. Effects that no replica performs any more are begun
 * again. Where a repeat could do harm, the fact `unknown` ends the effect instead. A session that has waited too long for a person is stopped.
 */
export function factToGoOn (session: Session, known: Knowledge): Fact | undefined {
  const { replica, isTaken, isHere, running, isRepeatable } = known
  if (ENDED.has(session.status)) return undefined
  const left = openIn(session, 'begun').filter(each => isLeft(session.id, each, known))
  // Effects that this replica began according to the log, but does not perform: the replica gave up waiting for the store's answer, and the store
  // wrote the entry all the same.
  const undone = left.filter(({ by }) => by === replica)
  const lost = isTaken ? left.filter(({ by }) => by !== replica) : []
  const unknown = [...lost, ...undone.filter(({ effect }) => running.wasPerformed(session.id, effect.id))]
    .find(({ effect }) => effect.kind !== 'wait' && !isRepeatable(effect))
  if (unknown !== undefined) return { kind: 'unknown', effect: unknown.effect.id }
  const repeats = [...undone, ...lost].map(({ effect }) => effect.id)
  const driver = driverOf(session)
  const isMine = isTaken || driver === replica || (isHere && driver === undefined)
  if (repeats.length > 0 || (isMine && owedNow(session).length > 0)) return { kind: 'took', repeats }
  const isOver = isWaiting(session) && Date.now() - session.updatedAt >= session.start.budget.idle
  return isTaken && isOver ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
}

/** Whether an effect that was begun is one that this process does not perform. A wait for the user is no such effect. */
function isLeft (id: string, { effect, by }: OpenEffect, { replica, running }: Knowledge): boolean {
  return effect.kind !== 'wait' && !(by === replica && running.has(id, effect.id))
}
