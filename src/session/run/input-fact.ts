import { approvalOutdated, commitDisabled, requestInvalid, type ServiceError, sessionBusy, sessionEnded, sessionFull } from '../../base/errors.ts'
import { type Refused } from '../engine.ts'
import { isWhole } from '../effects.ts'
import { type Action, ENDED, type Fact, type StopCause } from '../model.ts'
import { acceptsInput, MAX_LOG_BYTES, openIn, type Session } from '../session.ts'

/** A session with this many log entries accepts no further input. */
const MAX_TRANSITIONS = 10_000

/** An input that a user sends to a session. */
export interface SessionInput {
  /** The id of the request, so that a request that is sent twice counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
  readonly action?: Action | undefined
}

/**
 * Makes the fact that records an input of a session's user; `undefined` when the session's last input has the same id.
 * @throws SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID, APPROVAL_OUTDATED, COMMIT_DISABLED
 */
export function inputFact (session: Session, { id: input, by, text, action }: SessionInput): Fact | undefined {
  const { id, status, engine } = session
  if (session.lastInput === input) return undefined
  if (ENDED.has(status)) throw sessionEnded(id, status)
  const refused = engine.refuses(text, action)
  if (refused !== undefined) throw refusalOf(refused, session)
  if (!acceptsInput(session)) throw sessionBusy(id, status)
  if (session.seq >= MAX_TRANSITIONS) throw sessionFull(id, `${MAX_TRANSITIONS} transitions`)
  if (session.bytes >= MAX_LOG_BYTES) throw sessionFull(id, `a log of ${MAX_LOG_BYTES} bytes`)
  return { kind: 'input', id: input, by, text, ...(action === undefined ? {} : { action }) }
}

/** The error for the user whose input the session's engine refused. */
function refusalOf ({ kind, message }: Refused, { id, status }: Session): ServiceError {
  switch (kind) {
    case 'busy': return sessionBusy(id, status, message)
    case 'invalid': return requestInvalid(message, { part: 'body' })
    case 'outdated': return approvalOutdated(id, undefined)
    case 'disabled': return commitDisabled(id, message)
  }
}

/** Makes the fact that stops a session; `undefined` for a session that has ended. @throws SESSION_BUSY while the session writes files or commits */
export function stopFact (session: Session, by: StopCause, reason: string): Fact | undefined {
  if (ENDED.has(session.status)) return undefined
  const isWriting = openIn(session, 'begun').some(({ effect }) => isWhole(effect))
  if (isWriting) throw sessionBusy(session.id, session.status, 'it is writing files; try again when it has')
  return { kind: 'stopped', by, reason }
}
