import { type Caller } from '../../access/caller.ts'
import { mayGoOn } from '../../access/may-run.ts'
import { approvalNotFound, approvalOutdated, requestInvalid, roleMissing, sessionBusy, sessionEnded, sessionNotFound } from '../../base/errors.ts'
import { ExecutorError, refuseInvalid } from '../../exec/executor.ts'
import { type Approval, approvalId, describeApproval, effectShownWith, parseApprovalId } from '../../session/approval.ts'
import { type Decided, type PersonsAnswer } from '../../session/decide.ts'
import { ENDED } from '../../session/model.ts'
import { type SessionRunner } from '../../session/run/runner.ts'
import { type Session } from '../../session/session.ts'
import { askingBelow, listAsking } from './reading/list-approvals.ts'
import { isWanted, type Wanted } from './kinds/session-kind.ts'
import { type RunningSessions } from './running-sessions.ts'
import { isApprover, isOwn, isSessionId } from './rules/session-rights.ts'

/** A person's answer to an approval. */
export type Answer = Omit<PersonsAnswer, 'by'>

/** An answer that names what was shown by its approval, or by its digest. */
export interface NamedAnswer extends Answer {
  readonly approvalId?: string | undefined
  /**
   * Whether an answer that was given before is refused when something else waits by now. Without it, such an answer counts
   * once, however often it comes.
   */
  readonly isStrict?: boolean
}

/** A session, and how something in it was decided. */
export interface Answered {
  readonly session: Session
  readonly decided: Decided
}

/** A session, and what waits in it for a person. */
export interface Waiting {
  readonly session: Session
  readonly held: readonly Approval[]
}

/** A page of what waits for a person. */
export interface ApprovalPage {
  readonly approvals: readonly Approval[]
  readonly next: string | undefined
}

/** Which approvals are wanted. */
export interface ApprovalQuery {
  /** Sessions of one page. */
  readonly limit: number
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Of this session alone. */
  readonly session?: string | undefined
  /** Of this session and all below it. */
  readonly root?: string | undefined
}

/**
 * What sessions may do only when a person allows it. Whoever owns a session may refuse; to allow is for those who may approve,
 * whoever owns the session.
 */
export class Approvals {
  readonly #running: RunningSessions
  readonly #owners: () => readonly string[]

  /** @param owners names of all who may own sessions */
  constructor (running: RunningSessions, owners: () => readonly string[]) {
    this.#running = running
    this.#owners = owners
  }

  /** What waits for a person in all sessions that an approver may know of. @throws REQUEST_INVALID */
  async list (caller: Caller, { session: only, root, ...page }: ApprovalQuery): Promise<ApprovalPage> {
    return await this.#running.use(async ({ store, runner }) => {
      const { heads, next } = root !== undefined
        ? { heads: await askingBelow(store, root), next: undefined }
        : only === undefined
          ? await listAsking(store, this.#owners(), ({ definition }) => mayGoOn(caller, definition), page)
          : { heads: [{ id: only }], next: undefined }
      const sessions = await Promise.all(heads.map(({ id }) => isSessionId(id) ? runner.load(id) : undefined))
      return { approvals: sessions.flatMap(session => session !== undefined && isApprover(caller, session) ? runner.approvals(session) : []), next }
    })
  }

  /** An approval, and what was decided about it. @throws APPROVAL_NOT_FOUND */
  async get (caller: Caller, approval: string): Promise<{ readonly approval: Approval, readonly decided: Decided | undefined }> {
    return await this.#running.use(async ({ runner }) => {
      const { session, effect } = await askedIn(runner, caller, approval)
      const waiting = runner.approvals(session).find(each => each.effect === effect)
      if (waiting !== undefined) return { approval: waiting, decided: undefined }
      const past = await runner.pastApproval(session, effect)
      if (past === undefined) throw approvalNotFound(approval)
      return { approval: past.asked, decided: past.decided }
    })
  }

  /**
   * Decides about an approval: the same answer of the same person counts once.
   * @throws ROLE_MISSING, REQUEST_INVALID, APPROVAL_NOT_FOUND, APPROVAL_DECIDED, APPROVAL_OUTDATED, SESSION_ENDED
   */
  async decide (caller: Caller, approval: string, answer: Answer): Promise<Answered> {
    return await this.#running.use(async ({ runner }) => {
      const { session, effect } = await askedIn(runner, caller, approval)
      return await decideAbout(runner, caller, session.id, effect, answer)
    })
  }

  /** A session and what waits in it, for whoever may decide about it. @throws SESSION_NOT_FOUND */
  async waitingIn (caller: Caller, id: string): Promise<Waiting> {
    return await this.#running.use(({ runner }) => waitingFor(runner, caller, id))
  }

  /**
   * Decides about what was asked in a session.
   * @param wanted of which kind the session has to be
   * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED; APPROVAL_DECIDED,
   * APPROVAL_OUTDATED
   */
  async answer (caller: Caller, id: string, given: NamedAnswer, wanted: Wanted): Promise<Answered> {
    const { approvalId: named, isStrict = false, ...answer } = given
    return await this.#running.use(async ({ runner }) => {
      const { session, held } = await waitingFor(runner, caller, id)
      if (!isWanted(session, wanted)) throw sessionNotFound(id)
      const { digest } = answer
      const byDigest = (): string | undefined => held.find(each => each.digest === digest)?.effect ?? effectShownWith(session, digest ?? '')
      const shown = named === undefined ? byDigest() : parseApprovalId(named)?.effect
      const [waiting] = held
      const isKnown = shown !== undefined && session.asked.has(shown) && (named === undefined || named === approvalId(id, shown))
      const isOver = isStrict && waiting !== undefined && waiting.effect !== shown
      if (isKnown && !isOver) return await decideAbout(runner, caller, id, shown, answer)
      if (waiting === undefined) throw nothingWaits(session)
      if (named === undefined && digest === undefined) {
        throw requestInvalid('expected the approvalId or the digest of the command that was shown', { part: 'body' })
      }
      throw approvalOutdated(id, describeApproval(waiting))
    })
  }
}

/** Why there is nothing to decide about in a session. */
export function nothingWaits ({ id, status }: Session): Error {
  return ENDED.has(status) ? sessionEnded(id, status) : sessionBusy(id, status, 'nothing waits for an approval')
}

/** The session and the effect of an approval, for whoever may decide about it. @throws APPROVAL_NOT_FOUND */
async function askedIn (runner: SessionRunner, caller: Caller, approval: string): Promise<{ readonly session: Session, readonly effect: string }> {
  const place = parseApprovalId(approval)
  const session = place && await runner.load(place.session)
  if (place === undefined || session === undefined || !mayDecide(caller, session)) throw approvalNotFound(approval)
  return { session, effect: place.effect }
}

async function waitingFor (runner: SessionRunner, caller: Caller, id: string): Promise<Waiting> {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || !mayDecide(caller, session)) throw sessionNotFound(id)
  return { session, held: runner.approvals(session) }
}

function mayDecide (caller: Caller, session: Session): boolean {
  return isOwn(caller, session) || isApprover(caller, session)
}

/** @throws ROLE_MISSING, REQUEST_INVALID, APPROVAL_NOT_FOUND, APPROVAL_DECIDED, APPROVAL_OUTDATED, SESSION_ENDED */
async function decideAbout (runner: SessionRunner, caller: Caller, id: string, effect: string, answer: Answer): Promise<Answered> {
  if (answer.decision === 'approve' && !caller.roles.has('approve')) throw roleMissing(caller.name, 'approve', [...caller.roles])
  refuseUnusable(answer.command)
  return await runner.decide(id, effect, { by: caller.name, ...answer })
}

/** @throws REQUEST_INVALID for a command that no shell can be given */
function refuseUnusable (command: string | undefined): void {
  if (command === undefined) return
  try {
    if (command.trim() === '') throw new ExecutorError('COMMAND_INVALID', 'expected a command, got nothing')
    refuseInvalid(command)
  } catch (error) {
    throw error instanceof ExecutorError ? requestInvalid(`command: ${error.message}`, { part: 'body' }) : error
  }
}
