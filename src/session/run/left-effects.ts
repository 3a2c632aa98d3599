import { ENDED, type Fact } from '../model.ts'
import { type Performer } from '../performer.ts'
import { driverOf, isWaiting, type OpenEffect, openIn, owedNow, type Session } from '../session.ts'
import { type RunningEffects } from './running-effects.ts'

/**
 * The knowledge of a replica (service process) that recovers a session: whether another replica may still drive the session, and which
 * effects run in this process.
 */
export interface Knowledge {
  /** The id of the replica that recovers the session. */
  readonly replica: string
  /** Whether this replica took the session because it was due. If another replica had begun effects of the session, that replica has stopped. */
  readonly isTaken: boolean
  /** Whether this process has to drive the session, because the session runs in a terminal of this process. */
  readonly isHere: boolean
  readonly running: Pick<RunningEffects, 'has' | 'wasPerformed'>
  readonly isRepeatable: Performer['isRepeatable']
}

/**
 * The next fact (log entry) in the recovery of a session; `undefined` when there is nothing to do. Effects that no replica performs any
 * more are begun again, or end as unknown where a repeat could do harm. A session that has waited too long is stopped.
 */
export function factToGoOn (session: Session, known: Knowledge): Fact | undefined {
  const { replica, isTaken, isHere, running, isRepeatable } = known
  if (ENDED.has(session.status)) return undefined
  const left = openIn(session, 'begun').filter(each => isLeft(session.id, each, known))
  // Effects that this replica has begun in the log, but does not perform: the store took the append after this replica had stopped waiting
  // for its answer.
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

/** Whether an effect that was begun is not performed by this process. */
function isLeft (id: string, { effect, by }: OpenEffect, { replica, running }: Knowledge): boolean {
  return effect.kind !== 'wait' && !(by === replica && running.has(id, effect.id))
}
