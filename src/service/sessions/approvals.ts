import type { Caller } from '../../access/caller.ts'
import { mayRunDefinition, RELEASES } from '../../access/rights.ts'
import { approvalNotFound, approvalOutdated, requestInvalid, roleMissing, sessionBusy, sessionEnded, sessionNotFound } from '../../base/errors.ts'
import { textOf } from '../../base/json.ts'
import { ExecutorError, refuseInvalid } from '../../exec/executor.ts'
import {
  type Approval, approvalId, describeApproval, effectShownWith, parseApprovalId, type PersonsAnswer
} from '../../session/approvals.ts'
import { type Effect, ENDED, type LogEntry } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import type { Asking, SessionStore } from '../../session/store/session-store.ts'
import type { Session } from '../../session/session.ts'
import { isRequestedKind, type RequestedKind } from './session-kind.ts'
import { isApprover, isOwn, isSessionId } from './session-rights.ts'
import { allHeads } from './session-tree.ts'

export type ApprovalAnswer = Omit<PersonsAnswer, 'by'>

export interface NamedAnswer extends ApprovalAnswer {
  readonly approvalId?: string | undefined
  /** Refuses unless the first that waits is the one seen; else an answer sent again after the decision is accepted, and counts once. */
  readonly isStrict?: boolean | undefined
}

export interface ApprovalQuery {
  readonly limit: number
  readonly after?: string | undefined
  readonly session?: string | undefined
  readonly root?: string | undefined
}

/** An owner may refuse; only a caller with the role `approve` may allow, and an owner needs this role, too. @throws REQUEST_INVALID */
export async function listApprovals (
  { store, runner }: { readonly store: SessionStore, readonly runner: SessionRunner },
  owners: readonly string[],
  caller: Caller,
  { session: only, root, ...page }: ApprovalQuery
) {
  const { heads, next } = root !== undefined
    ? { heads: await askingBelow(store, root), next: undefined }
    : only === undefined
      ? await listAsking(store, owners, ({ definition }) => mayRunDefinition(caller, definition), page)
      : { heads: [{ id: only }], next: undefined }
  const sessions = await Promise.all(heads.map(({ id }) => isSessionId(id) ? runner.load(id) : undefined))
  const approvals = sessions.flatMap(session => session === undefined ? [] : heldFor(runner, session, effect => isApprover(caller, session, effect)))
  return { approvals, next }
}

/** @throws APPROVAL_NOT_FOUND */
export async function findApproval (runner: SessionRunner, caller: Caller, approval: string) {
  const { session, effect } = await askedIn(runner, caller, approval)
  const waiting = runner.approvals(session).find(each => each.effect === effect.id)
  if (waiting !== undefined) return { approval: waiting, decided: undefined }
  const past = await runner.pastApproval(session, effect.id)
  if (past === undefined) throw approvalNotFound(approval)
  return { approval: past.asked, decided: past.decided }
}

/** Repeated, it counts once. @throws ROLE_MISSING, REQUEST_INVALID, APPROVAL_NOT_FOUND, APPROVAL_DECIDED, APPROVAL_OUTDATED, APPROVER_REFUSED, SESSION_ENDED */
export async function decideApproval (runner: SessionRunner, caller: Caller, approval: string, answer: ApprovalAnswer) {
  const { session, effect } = await askedIn(runner, caller, approval)
  const { decision, digest, reason, command } = answer
  if (decision === 'approve') {
    if (!caller.roles.has('approve')) throw roleMissing(caller.name, 'approve', [...caller.roles])
    if (!isApprover(caller, session, effect)) throw approvalNotFound(approval)
  }
  refuseUnusable(command)
  const mayShow = (other: Effect): boolean => mayDecide(caller, session, other)
  const { session: after, decided } = await runner.decide(session.id, effect.id, { by: caller.name, decision, digest, reason, command }, mayShow)
  return { session: after, decided, held: heldFor(runner, after, mayShow) }
}

/**
 * Decides about one approval of the session `id`. `given` names the approval.
 * @param wanted the kind of sessions (agents, skills, plans) to which the session must belong
 * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED; APPROVAL_DECIDED,
 * APPROVAL_OUTDATED
 */
export async function answerApproval (runner: SessionRunner, caller: Caller, id: string, given: NamedAnswer, wanted: RequestedKind) {
  const { approvalId: named, isStrict = false, digest } = given
  const { session, held } = await waitingFor(runner, caller, id)
  if (!isRequestedKind(session, wanted)) throw sessionNotFound(id)
  const byDigest = (): string | undefined => held.find(each => each.digest === digest)?.effect ?? effectShownWith(session, digest ?? '')
  const shown = named === undefined ? byDigest() : parseApprovalId(named)?.effect
  const [waiting] = held
  const isKnown = shown !== undefined && session.asked.has(shown) && (named === undefined || named === approvalId(id, shown))
  const isOver = isStrict && waiting !== undefined && waiting.effect !== shown
  if (isKnown && !isOver) return await decideApproval(runner, caller, approvalId(id, shown), given)
  if (waiting === undefined) throw nothingWaits(session)
  if (named === undefined && digest === undefined) {
    throw requestInvalid('expected the approvalId or the digest of the command that was shown', { part: 'body' })
  }
  throw approvalOutdated(id, describeApproval(waiting))
}

export function nothingWaits ({ id, status }: Session): Error {
  return ENDED.has(status) ? sessionEnded(id, status) : sessionBusy(id, status, 'nothing waits for an approval')
}

/** Only for a caller who may decide about it. @throws APPROVAL_NOT_FOUND */
async function askedIn (runner: SessionRunner, caller: Caller, approval: string): Promise<{ readonly session: Session, readonly effect: Effect }> {
  const place = parseApprovalId(approval)
  const session = place && await runner.load(place.session)
  if (place === undefined || session === undefined) throw approvalNotFound(approval)
  const effect = session.open.get(place.effect)?.effect ?? (await runner.pastApproval(session, place.effect))?.effect
  if (effect === undefined || !mayDecide(caller, session, effect)) throw approvalNotFound(approval)
  return { session, effect }
}

/** @throws SESSION_NOT_FOUND */
export async function waitingFor (runner: SessionRunner, caller: Caller, id: string) {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || !mayDecide(caller, session)) throw sessionNotFound(id)
  return { session, held: heldFor(runner, session, effect => mayDecide(caller, session, effect)) }
}

function heldFor (runner: SessionRunner, session: Session, isTheirs: (effect: Effect) => boolean): readonly Approval[] {
  const theirs = new Set([...session.open.values()].filter(({ effect }) => isTheirs(effect)).map(({ effect }) => effect.id))
  return runner.approvals(session).filter(({ effect }) => theirs.has(effect))
}

function mayDecide (caller: Caller, session: Session, effect?: Effect): boolean {
  return isOwn(caller, session) || isApprover(caller, session, effect)
}

/** No shell could run it. @throws REQUEST_INVALID */
function refuseUnusable (command: string | undefined): void {
  if (command === undefined) return
  try {
    if (command.trim() === '') throw new ExecutorError('COMMAND_INVALID', 'expected a command, got nothing')
    refuseInvalid(command)
  } catch (error) {
    throw error instanceof ExecutorError ? requestInvalid(`command: ${error.message}`, { part: 'body' }) : error
  }
}

/** The last session of a page; `rank` is its place among its owner's waiting sessions, from 0. */
interface ApprovalCursor { readonly rank: number, readonly owner: string }

/** In rounds, one session of each owner, so that none hides others'; later ones move up between pages. @throws REQUEST_INVALID */
async function listAsking (
  store: SessionStore,
  owners: readonly string[],
  isWanted: (asking: Asking) => boolean,
  { limit, after }: Pick<ApprovalQuery, 'limit' | 'after'>
): Promise<{ readonly heads: readonly Asking[], readonly next: string | undefined }> {
  const last = parsePlace(after)
  const asking = new Map<string, Asking[]>(owners.map(owner => [owner, []]))
  // The oldest come first, since they expire first.
  for (const each of await store.asking()) if (isWanted(each)) asking.get(each.owner)?.push(each)
  const byOwner = Array.from(asking, ([owner, heads]) => ({ owner, heads })).sort((a, b) => a.owner < b.owner ? -1 : 1)
  const heads: Asking[] = []
  let place: ApprovalCursor | undefined
  for (let rank = last?.rank ?? 0; byOwner.some(each => each.heads.length > rank); rank++) {
    for (const { owner, heads: own } of byOwner) {
      const head = own[rank]
      if (head === undefined || (rank === last?.rank && owner <= last.owner)) continue
      if (heads.length === limit) return { heads, next: place && `${place.rank}:${place.owner}` }
      heads.push(head)
      place = { rank, owner }
    }
  }
  return { heads, next: undefined }
}

/** `root` comes first, whether or not something waits there; then the oldest. */
async function askingBelow (store: SessionStore, root: string): Promise<ReadonlyArray<{ readonly id: string }>> {
  return isSessionId(root) ? [{ id: root }, ...(await allHeads(store, { root, isAsking: true })).reverse()] : []
}

function parsePlace (after: string | undefined): ApprovalCursor | undefined {
  if (after === undefined) return undefined
  const [, rank, owner] = /^(\d{1,6}):(\S{0,1024})$/.exec(after) ?? []
  if (rank === undefined || owner === undefined) {
    throw requestInvalid('querystring: after: expected what a page of approvals has given as "next"', { part: 'querystring' })
  }
  return { rank: Number(rank), owner }
}

/** The place in the store where processes tell each other that what waits for people has changed. No session has this id. */
const WAITING = 'f'.repeat(32)

/** A session in which something has begun to wait for a person, or waits no more. */
export interface WaitingChange {
  readonly session: string
  readonly owner: string
  readonly definition: string
  /** Whether what waits for an approval may have changed, and not the session's state alone. */
  readonly isApproval: boolean
}

/** Tells all processes, unless the log entry changes nothing of what waits. */
export function tellOfChange (store: SessionStore, { id, status, start: { owner, definition } }: Session, { notices }: LogEntry): void {
  const isApproval = ENDED.has(status) || notices.some(({ type }) => type === 'approval')
  if (isApproval || notices.some(({ type }) => type === 'state')) store.publish(WAITING, { session: id, owner, definition, isApproval })
}

/** @param onChange gets no change when one was perhaps missed @returns ends this @throws SessionStoreError */
export async function watchChanges (store: SessionStore, onChange: (change?: WaitingChange) => void): Promise<() => void> {
  return await store.watch(WAITING, {
    onAppend () {},
    onLive ({ session, owner, definition, isApproval }) {
      onChange({ session: textOf(session), owner: textOf(owner), definition: textOf(definition), isApproval: isApproval === true })
    },
    onGap () { onChange() }
  })
}

/** What of it the change may have made different for the caller: the approvals, and the input that own sessions wait for. */
export function changedFor (caller: Caller, { owner, definition, isApproval }: WaitingChange): ReadonlyArray<'approvals' | 'sessions'> {
  const { roles } = caller
  const isTheirs = isApproval && roles.has('approve') && mayRunDefinition(caller, definition)
  const mayRead = roles.has('run') || (roles.has('write') && definition.startsWith(`${RELEASES}/`))
  return [...isTheirs ? ['approvals' as const] : [], ...mayRead && isOwn(caller, { start: { owner } }) ? ['sessions' as const] : []]
}
