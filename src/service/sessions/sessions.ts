import { createHash, randomUUID } from 'node:crypto'
import { type Caller } from '../../access/caller.ts'
import { mayGoOn } from '../../access/may-run.ts'
import { approvalNotFound, approvalOutdated, forkImpossible, forksTooLarge, keyReused, requestInvalid, roleMissing, sessionBusy, sessionEnded, sessionNotFound } from '../../base/errors.ts'
import { type Log } from '../../base/log.ts'
import { ExecutorError, refuseInvalid } from '../../exec/executor.ts'
import { type Approval, approvalId, describeApproval, effectShownWith, parseApprovalId } from '../../session/approval.ts'
import { type Decided, type PersonsAnswer } from '../../session/decide.ts'
import { type Engines } from '../../session/fold.ts'
import { type Followed, followSession } from '../../session/follow.ts'
import { forkSession, ForkTooLarge, NothingToFork } from '../../session/fork.ts'
import { type Circumstances } from '../../session/gate.ts'
import { type Action, ENDED, type Start, type Transition } from '../../session/model.ts'
import { type Performer } from '../../session/performer.ts'
import { readShown } from '../../session/read-log.ts'
import { SessionRunner } from '../../session/run/runner.ts'
import { LogUntrusted, type Seals } from '../../session/seal.ts'
import { type Session } from '../../session/session.ts'
import { type ListQuery, type SessionPage, type SessionStore } from '../../session/session-store.ts'
import { KeyedMutex } from '../../session/keyed-mutex.ts'
import { boundedInput } from './bounded-input.ts'
import { type Lookout, lookOut } from './left-behind.ts'
import { listAsking } from './list-approvals.ts'
import { type MessagePage, type Place, readMessages } from './messages.ts'
import { available, begun, inWords } from './available.ts'
import { isApprover, isOwn, requireAllowed, requireUsable } from './session-rights.ts'
import { MAX_COPIED, requireRoom, roomForCopies } from './session-room.ts'

export interface SessionsOptions {
  /** Opens the store and loads what runs sessions, when they are first used. */
  readonly open: () => Promise<{ readonly store: SessionStore, readonly engines: Engines, readonly seals: Seals }>
  /** Whether there are sessions that have not ended; loads as little as it can. */
  readonly isAnyOpen: () => Promise<boolean>
  /** Brings to an end what an earlier process has begun to change, if anything. */
  readonly mend: () => Promise<void>
  readonly performer: Performer
  /** What the operator says now. */
  readonly circumstances: Circumstances
  /** Names of all who may own sessions. */
  readonly owners: () => readonly string[]
  /** Ends the store and connections of targets, when no session runs any more. */
  readonly close: () => Promise<void>
  readonly log: Log
  /** Called with each transition that this process has written. */
  readonly onWritten?: ((session: Session, transition: Transition) => void) | undefined
  readonly onEnded: (session: Session) => void
  /** Called with each session that waits now or has ended. */
  readonly onSettled?: ((session: Session) => Promise<void>) | undefined
}

/** A request that starts a session. */
export interface StartRequest {
  readonly caller: Caller
  /** Where it depends on the id of the session, a function of it. */
  readonly start: Omit<Start, 'owner'> | ((session: string) => Omit<Start, 'owner'>)
  /** Of the request: one that is sent again starts no second session. */
  readonly key?: string | undefined
}

/** Who follows a session: somebody as he was when he began, or as he is at each moment. */
export type Follower = Caller | (() => Caller)

/** What a user sends to a session: words, or something else that its engine knows. */
export interface UserInput {
  readonly text?: string
  readonly action?: Action | undefined
  /** Of the request: one that is sent again counts once. */
  readonly key?: string | undefined
}

/** A person's answer to an approval. */
export type Answer = Omit<PersonsAnswer, 'by'>

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
}

interface Opened {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly runner: SessionRunner
}

/** Sessions as callers have them: each its own, and none is loaded before the first is used. */
export class Sessions {
  readonly #options: SessionsOptions
  #opened: Promise<Opened> | undefined
  #store: SessionStore | undefined
  readonly #starts = new KeyedMutex()
  #lookout: Lookout | undefined

  constructor (options: SessionsOptions) {
    this.#options = options
  }

  /** Goes on with what earlier processes have left, without anybody asking. Where there is nothing, nothing is loaded. */
  begin (): void {
    const { mend, isAnyOpen } = this.#options
    void mend()
    this.#lookout = lookOut(async () => this.#opened !== undefined || await isAnyOpen(), () => this.#use(async () => {}))
  }

  /** Why sessions cannot be had now, if so. */
  problem (): string | undefined {
    return this.#store === undefined ? this.#lookout?.problem() : this.#store.problem()
  }

  /** Starts a session. @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, SESSIONS_UNAVAILABLE */
  async start ({ caller, start: given, key }: StartRequest): Promise<Session> {
    const id = key === undefined ? randomUUID().replaceAll('-', '') : createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
    const start = typeof given === 'function' ? given(id) : given
    requireAllowed(caller, start.definition)
    // One start of a caller after the other: each counts those before it.
    return await this.#use(({ store, runner }) => this.#starts.run(caller.name, async () => {
      await requireRoom(store, caller.name, id)
      const session = await runner.start(id, { ...start, owner: caller.name })
      if (session.start.definition !== start.definition) throw keyReused(session.start.definition)
      return session
    }))
  }

  /** A session of the caller's own. @throws SESSION_NOT_FOUND, also for one of somebody else */
  async get (caller: Caller, id: string): Promise<Session> {
    return await this.#use(({ runner }) => ownSession(runner, caller, id))
  }

  /** @throws REQUEST_INVALID for a cursor that no page has given */
  async list (caller: Caller, query: Omit<ListQuery, 'owner'>): Promise<SessionPage> {
    return await this.#use(async ({ store }) => {
      try {
        return await store.list(caller.roles.has('admin') ? query : { ...query, owner: caller.name })
      } catch (error) {
        throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : error
      }
    })
  }

  /** @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID */
  async input (caller: Caller, id: string, { text = '', action, key = randomUUID() }: UserInput): Promise<Session> {
    return await this.#use(async ({ runner }) => {
      requireUsable(caller, await ownSession(runner, caller, id))
      return await runner.input(id, { id: key, by: caller.name, text, action: boundedInput(text, action) })
    })
  }

  async cancel (caller: Caller, id: string): Promise<Session> {
    return await this.#use(async ({ runner }) => {
      await ownSession(runner, caller, id)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /** A new session that goes on from where this one waited. @throws FORK_IMPOSSIBLE, TOO_MANY_SESSIONS */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.#use(async ({ store, engines, seals, runner }) => {
      requireUsable(caller, await ownSession(runner, caller, id))
      return await this.#starts.run(caller.name, async () => {
        await requireRoom(store, caller.name)
        const most = await roomForCopies(store, caller.name)
        try {
          return await forkSession({ store, engines, seals, from: id, to: randomUUID().replaceAll('-', ''), owner: caller.name, upTo, most, by: caller.name })
        } catch (error) {
          if (error instanceof LogUntrusted) throw sessionEnded(id, `LOG_UNTRUSTED: ${error.message}`)
          if (error instanceof ForkTooLarge) throw forksTooLarge(MAX_COPIED / 1024 ** 2)
          throw error instanceof NothingToFork ? forkImpossible(id) : error
        }
      })
    })
  }

  /**
   * What happens in a session, from a transition on.
   * @param who follows; a function tells who that is by now, and is asked before each word: what it throws ends the following
   * @throws SESSION_NOT_FOUND before the first, and as soon as the session is not the follower's any more
   */
  async follow (who: Follower, id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<Followed>> {
    return await this.#use(async ({ store, runner }) => {
      await requireOwn(runner, typeof who === 'function' ? who() : who, id)
      const followed = available(followSession(store, id, after, signal))
      return typeof who === 'function' ? whileOwn(followed, who, id, await runner.ownerOf(id) ?? '') : followed
    })
  }

  /** What is in the log of a session behind a transition, read as it is wanted. @throws SESSION_NOT_FOUND before the first */
  async audit (caller: Caller, id: string, after: number): Promise<AsyncGenerator<Transition>> {
    return await this.#use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await begun(available(readShown(store, id, after)))
    })
  }

  /** All that is in the log of a session now. @throws SESSION_NOT_FOUND */
  async transitions (caller: Caller, id: string): Promise<readonly Transition[]> {
    const all: Transition[] = []
    for await (const transition of await this.audit(caller, id, 0)) all.push(transition)
    return all
  }

  /** What was said in a session, a page at a time. @throws SESSION_NOT_FOUND */
  async messages (caller: Caller, id: string, after: Place, limit: number): Promise<MessagePage> {
    return await this.#use(async ({ store, runner }) => {
      await requireOwn(runner, caller, id)
      return await readMessages(readShown(store, id, Math.max(0, after.seq - 1)), after, limit)
    })
  }

  /** What waits for a person in all sessions that an approver may know of. @throws REQUEST_INVALID */
  async approvals (caller: Caller, { session: only, ...page }: ApprovalQuery): Promise<ApprovalPage> {
    return await this.#use(async ({ store, runner }) => {
      const { heads, next } = only === undefined ? await listAsking(store, this.#options.owners(), ({ definition }) => mayGoOn(caller, definition), page) : { heads: [{ id: only }], next: undefined }
      const sessions = await Promise.all(heads.map(({ id }) => isSessionId(id) ? runner.load(id) : undefined))
      return { approvals: sessions.flatMap(session => session !== undefined && isApprover(caller, session) ? runner.approvals(session) : []), next }
    })
  }

  /** An approval, and what was decided about it. @throws APPROVAL_NOT_FOUND */
  async approval (caller: Caller, approval: string): Promise<{ readonly approval: Approval, readonly decided: Decided | undefined }> {
    return await this.#use(async ({ runner }) => {
      const { session, effect } = await this.#askedIn(runner, caller, approval)
      const waiting = runner.approvals(session).find(each => each.effect === effect)
      if (waiting !== undefined) return { approval: waiting, decided: undefined }
      const past = await runner.pastApproval(session, effect)
      if (past === undefined) throw approvalNotFound(approval)
      return { approval: past.asked, decided: past.decided }
    })
  }

  /** A session and what waits in it, for whoever may decide about it. @throws SESSION_NOT_FOUND */
  async approvalsIn (caller: Caller, id: string): Promise<{ readonly session: Session, readonly held: readonly Approval[] }> {
    return await this.#use(async ({ runner }) => {
      const session = isSessionId(id) ? await runner.load(id) : undefined
      if (session === undefined || !(isOwn(caller, session) || isApprover(caller, session))) throw sessionNotFound(id)
      return { session, held: runner.approvals(session) }
    })
  }

  /**
   * Decides about what was asked in a session, by the id or the digest with which it was shown: the same answer of the same
   * person counts once. Whoever owns a session may refuse; to allow is for those who may approve.
   * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED; APPROVAL_NOT_FOUND,
   * APPROVAL_DECIDED, APPROVAL_OUTDATED
   */
  async answer (caller: Caller, id: string, { approvalId: approval, ...answer }: Answer & { readonly approvalId?: string | undefined }): Promise<{ readonly session: Session, readonly decided: Decided }> {
    const { session, held } = await this.approvalsIn(caller, id)
    const named = approval === undefined ? undefined : parseApprovalId(approval)?.effect
    const shown = named ?? held.find(({ digest }) => digest === answer.digest)?.effect ?? effectShownWith(session, answer.digest ?? '')
    if (shown !== undefined && session.asked.has(shown) && (approval === undefined || approval === approvalId(id, shown))) return await this.decide(caller, id, shown, answer)
    const [waiting] = held
    if (waiting === undefined) throw ENDED.has(session.status) ? sessionEnded(id, session.status) : sessionBusy(id, session.status, 'nothing waits for an approval')
    if (approval === undefined && answer.digest === undefined) throw requestInvalid('expected the approvalId or the digest of the command that was shown', { part: 'body' })
    throw approvalOutdated(id, describeApproval(waiting))
  }

  /**
   * Decides about an effect; see `answer`.
   * @throws ROLE_MISSING, REQUEST_INVALID, APPROVAL_NOT_FOUND, APPROVAL_DECIDED, APPROVAL_OUTDATED, SESSION_ENDED
   */
  async decide (caller: Caller, id: string, effect: string, answer: Answer): Promise<{ readonly session: Session, readonly decided: Decided }> {
    if (answer.decision === 'approve' && !caller.roles.has('approve')) throw roleMissing(caller.name, 'approve', [...caller.roles])
    refuseUnusable(answer.command)
    return await this.#use(async ({ runner }) => {
      await this.#askedIn(runner, caller, approvalId(id, effect))
      return await runner.decide(id, effect, { by: caller.name, ...answer })
    })
  }

  async close (): Promise<void> {
    this.#lookout?.close()
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.runner.close()
    await this.#options.close()
  }

  /** The session and the effect of an approval, for whoever may decide about it. @throws APPROVAL_NOT_FOUND */
  async #askedIn (runner: SessionRunner, caller: Caller, approval: string): Promise<{ readonly session: Session, readonly effect: string }> {
    const place = parseApprovalId(approval)
    const session = place && await runner.load(place.session)
    if (place === undefined || session === undefined || !(isOwn(caller, session) || isApprover(caller, session))) throw approvalNotFound(approval)
    return { session, effect: place.effect }
  }

  async #use<T> (work: (opened: Opened) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= this.#begin()
      return await work(await this.#opened)
    } catch (error) {
      throw inWords(error)
    }
  }

  async #begin (): Promise<Opened> {
    const { open, performer, circumstances, log, onWritten, onEnded, onSettled } = this.#options
    const { store, engines, seals } = await open()
    this.#store = store
    const runner = new SessionRunner({ store, engines, seals, performer, circumstances, log, onEnded, ...(onWritten === undefined ? {} : { onWritten }), ...(onSettled === undefined ? {} : { onSettled }) })
    runner.open()
    return { store, engines, seals, runner }
  }
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

/** Ids become names of files and keys. */
function isSessionId (id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

/** @param owner of the session @throws SESSION_NOT_FOUND, and what `who` throws */
async function * whileOwn (followed: AsyncGenerator<Followed>, who: () => Caller, id: string, owner: string): AsyncGenerator<Followed> {
  for await (const each of followed) {
    if (!isOwn(who(), { start: { owner } })) throw sessionNotFound(id)
    yield each
  }
}

/** Without reading more of its log than who began it. @throws SESSION_NOT_FOUND for a session that is not the caller's own */
async function requireOwn (runner: SessionRunner, caller: Caller, id: string): Promise<void> {
  const owner = isSessionId(id) ? await runner.ownerOf(id) : undefined
  if (owner === undefined || !isOwn(caller, { start: { owner } })) throw sessionNotFound(id)
}

async function ownSession (runner: SessionRunner, caller: Caller, id: string): Promise<Session> {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || !isOwn(caller, session)) throw sessionNotFound(id)
  return session
}
