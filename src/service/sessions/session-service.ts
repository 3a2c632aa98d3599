import { createHash, randomUUID } from 'node:crypto'
import type { Caller } from '../../access/caller.ts'
import { refusalBy, type RightsWatch } from '../../access/rights.ts'
import {
  forkImpossible, forksTooLarge, keyReused, requestInvalid, sessionEnded, sessionNotFound, sessionsUnavailable, tooManySessions
} from '../../base/errors.ts'
import { type JsonObject, stringifyJson, textOf } from '../../base/json.ts'
import { RELEASE } from '../../engine/release-key.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { Clip } from '../../exec/captured-output.ts'
import type { Generation } from '../../registry/generation.ts'
import { KeyedMutex } from '../../runtime/concurrency.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { longWaits } from '../../runtime/process-lock.ts'
import { type Engines, EngineUnknown } from '../../session/advance-session.ts'
import { approvalId } from '../../session/approvals.ts'
import { isOf } from '../../session/engine.ts'
import { type FeedItem, followSession } from '../../session/follow.ts'
import { forkSession, ForkTooLarge, NothingToFork } from '../../session/fork.ts'
import type { Action, Head, LogEntry, Start } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { LogUntrusted, readShown, type Seals } from '../../session/session-log.ts'
import { openChildrenIn, openIn, type Session } from '../../session/session.ts'
import { type SessionStore, SessionStoreError, type Tally } from '../../session/store/session-store.ts'
import {
  answerApproval, type ApprovalAnswer, type ApprovalQuery, decideApproval, findApproval, listApprovals, type NamedAnswer, nothingWaits, type WaitingChange,
  waitingFor, watchChanges
} from './approvals.ts'
import { readLastMessages, readMessages, type SessionUse, usesIn } from './messages.ts'
import type { RequestedKind, SessionKind } from './session-kind.ts'
import { SessionList, type SessionQuery } from './session-list.ts'
import { isOwn, isSessionId, ownSession, requireOwn, requireUsable } from './session-rights.ts'
import { allHeads, type Below, childrenOf, openBelow, type SessionBranch, tellOfWaiting, treeOf, waitsForPeople } from './session-tree.ts'

interface OpenedSessions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly runner: SessionRunner
}

export interface RequestContext {
  readonly caller: Caller
  readonly requestId: string
  /** A request that is sent again with the same key counts once. */
  readonly key?: string | undefined
  readonly signal: AbortSignal
  /** In ms; 0 for a caller who follows the events instead. @default 30 s */
  readonly patience?: number | undefined
}

/** In ms. */
const PATIENCE = 30_000

export interface TurnResult {
  readonly session: Session
  readonly stdout: readonly string[]
  readonly isOpen: boolean
  readonly children: ReadonlyArray<Head & Below>
  /** The last log entry before the call; those that the call has caused have higher numbers. */
  readonly after: number
  /** An approver who does not own the session sees only the approvals that wait. */
  readonly isOwn: boolean
}

export interface UserInput {
  readonly text?: string | undefined
  readonly action?: Action | undefined
}

export type SeenApproval = Pick<NamedAnswer, 'approvalId' | 'digest'>

/** With the rights that the caller has now; an error that it throws ends the events. */
type CurrentCaller = () => Caller

/** In ms, between two looks for sessions that earlier processes have left. */
const LOOK = 5000

/** In ms, for which a tally counts. */
const TALLIED = 5000

interface SessionServiceOptions {
  readonly open: () => Promise<OpenedSessions>
  readonly isAnyOpen: () => Promise<boolean>
  /** As far as the store was tried. */
  readonly storeProblem: () => string | undefined
  readonly close: () => Promise<void>
  readonly rights: RightsWatch
  /** The names of all tokens, whose sessions can wait for approvals. */
  readonly owners: () => readonly string[]
}

/**
 * All that a client can do with sessions, over HTTP, a WebSocket or in this process; each verb checks what the caller may do. A caller is
 * allowed to see its own sessions, and an admin all. Store and engines are opened at first use (before, not even their code is loaded), and
 * stay open until the end; every verb throws SESSIONS_UNAVAILABLE when the store cannot be reached.
 */
export class SessionService {
  readonly #options: SessionServiceOptions
  /** The sessions of one caller begin one after the other, so that the limit of open sessions is kept. */
  readonly #startsOf = new KeyedMutex()
  #opening: Promise<OpenedSessions> | undefined
  #opened: OpenedSessions | undefined
  #list: SessionList | undefined
  #lookProblem: string | undefined
  #looking: NodeJS.Timeout | undefined
  #tallied: { readonly at: number, readonly tally: Promise<Tally | undefined> } = { at: -Infinity, tally: Promise.resolve(undefined) }
  #isClosed = false

  constructor (options: SessionServiceOptions) {
    this.#options = options
  }

  /** Resumes what earlier processes did not finish, before any request. Looks every 5 s until there is any, and loads nothing before. */
  async begin (): Promise<void> {
    try {
      const isLeft = this.#opening !== undefined || await this.#options.isAnyOpen()
      this.#lookProblem = undefined
      if (isLeft && !this.#isClosed) return await this.use(async () => {})
    } catch (error) {
      this.#lookProblem = (error as Error).message
    }
    if (!this.#isClosed) this.#looking = setTimeout(() => { void this.begin() }, LOOK).unref()
  }

  problem (): string | undefined {
    return this.#options.storeProblem() ?? this.#lookProblem
  }

  waits (): readonly string[] {
    return [...longWaits(), ...this.#opened?.runner.waits() ?? []]
  }

  unknown (): ReadonlyMap<string, number> {
    return this.#opened?.runner.unknown() ?? new Map<string, number>()
  }

  running (): ReadonlyMap<string, number> {
    return this.#opened?.runner.running() ?? new Map<string, number>()
  }

  queued (): number {
    return this.#opened?.runner.queued() ?? 0
  }

  /** Of all processes, a few seconds old at most. `undefined` while the store cannot be read; it is not opened for this. */
  async tally (): Promise<Tally | undefined> {
    if (this.problem() !== undefined) return undefined
    if (this.#opened === undefined) return { open: [], unread: 0, due: 0, overdue: 0, asked: undefined }
    const now = performance.now()
    if (now - this.#tallied.at > TALLIED) this.#tallied = { at: now, tally: this.#opened.store.tally().catch(() => undefined) }
    return await this.#tallied.tally
  }

  /** @throws SESSIONS_UNAVAILABLE when the store cannot be reached, and what `work` throws */
  async use<T> (work: (opened: OpenedSessions) => Promise<T>): Promise<T> {
    try {
      this.#opened = await (this.#opening ??= this.#options.open())
      return await work(this.#opened)
    } catch (error) {
      throw storeErrorOf(error)
    }
  }

  async close (): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#looking)
    await (await this.#opening?.catch(() => undefined))?.runner.close()
    await this.#options.close()
  }

  /** Until input is needed, the end, or `patience`. @throws those of the kind, and of `create` */
  async start<R> (kind: SessionKind<R>, context: RequestContext, generation: Generation, request: R): Promise<TurnResult> {
    const { caller, requestId, key } = context
    const { id } = await this.create(caller, session => kind.start(request, { caller, generation, session, requestId }), key)
    return await this.#idle(context, id, 0)
  }

  /** `key` makes it idempotent. @throws DEFINITION_NOT_FOUND, TOO_MANY_SESSIONS, IDEMPOTENCY_KEY_REUSED; what `make` does */
  async create (caller: Caller, make: (session: string) => Promise<Omit<Start, 'owner'>> | Omit<Start, 'owner'>, key?: string): Promise<Session> {
    const id = key === undefined ? newId() : idOfKey(caller, key)
    const start = { ...await make(id), owner: caller.name }
    requireUsable(caller, start)
    return await this.use(({ store, runner }) => this.#startsOf.run(caller.name, async () => {
      await requireRoom(store, caller.name, id)
      const session = await runner.start(id, start)
      if (session.start.definition !== start.definition) throw keyReused(session.start.definition)
      return session
    }))
  }

  /**
   * Starts another session that goes on from a log entry at which this one waited. @default the last
   * @throws SESSION_NOT_FOUND, FORK_IMPOSSIBLE, TOO_MANY_SESSIONS, SESSION_ENDED
   */
  async fork (caller: Caller, id: string, upTo?: number): Promise<Session> {
    return await this.use(async opened => {
      const session = await ownSession(opened.runner, caller, id)
      requireUsable(caller, session.start, session)
      // A child session cannot be forked: its result goes to its parent, and no parent would wait for the copy. Nor can an agreement be copied.
      if (session.start.parent !== undefined || isOf(session.start.engine, RELEASE)) throw forkImpossible(id)
      return await this.#startsOf.run(caller.name, () => forkWithin(opened, caller, id, upTo))
    })
  }

  /** Only the caller's own. @throws SESSION_NOT_FOUND */
  async get (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    return await this.use(({ runner }) => ownSession(runner, caller, id, wanted))
  }

  /** The token must still allow it all. @throws SESSION_NOT_FOUND, ROLE_MISSING, DEFINITION_NOT_FOUND, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND */
  async getUsable (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    const session = await this.get(wanted, caller, id)
    requireUsable(caller, session.start, session)
    return session
  }

  /**
   * The newest first, without child sessions unless `parent` or `root` is given; `reason` is why this process can neither open a session nor go on
   * with it. @throws REQUEST_INVALID for an unknown cursor
   */
  async list (caller: Caller, query: SessionQuery) {
    return await this.use(async ({ store, engines }) => {
      const { parent, root = parent, owner = caller.roles.has('admin') ? undefined : caller.name } = query
      if (owner !== caller.name && !caller.roles.has('admin')) return { heads: [], next: undefined }
      if (root !== undefined && !isSessionId(root)) return { heads: [], next: undefined }
      // The store finds the descendants of a session only by the root of their tree.
      const top = parent === undefined ? root : (await store.head(parent))?.root ?? root
      try {
        const { heads, next } = await (this.#list ??= new SessionList(store)).page({ ...query, root: top, owner })
        return { heads: heads.map(head => ({ ...head, reason: engines.has(head.engine) ? undefined : `no engine ${head.engine} is here` })), next }
      } catch (error) {
        throw error instanceof RangeError ? requestInvalid(`querystring: after: ${error.message}`, { part: 'querystring' }) : error
      }
    })
  }

  /** The first one first. @throws SESSION_NOT_FOUND */
  async children (caller: Caller, id: string): Promise<ReadonlyArray<Head & Below>> {
    return await this.use(async ({ store, runner }) => await childrenOf(store, await ownSession(runner, caller, id)))
  }

  /** @throws SESSION_NOT_FOUND */
  async tree (caller: Caller, id: string): Promise<SessionBranch> {
    return await this.#reading(caller, id, async ({ store }) => {
      const head = await store.head(id)
      if (head === undefined) throw sessionNotFound(id)
      return await treeOf(store, head)
    })
  }

  /** Read from the log one by one as they are asked for. @throws SESSION_NOT_FOUND before the first log entry */
  async audit (caller: Caller, id: string, after: number): Promise<AsyncGenerator<LogEntry>> {
    return await this.#reading(caller, id, ({ store }) => begun(available(readShown(store, id, after))))
  }

  /** @param after the last message that is known @throws SESSION_NOT_FOUND */
  async messages (caller: Caller, id: string, after: Parameters<typeof readMessages>[1], limit: number): ReturnType<typeof readMessages> {
    return await this.#reading(caller, id, ({ store }) => readMessages(readShown(store, id, Math.max(0, after.seq - 1)), after, limit))
  }

  /** @throws SESSION_NOT_FOUND */
  async lastMessages (caller: Caller, id: string, limit: number): ReturnType<typeof readLastMessages> {
    return await this.#reading(caller, id, async ({ store }) => {
      const head = await store.head(id)
      return await readLastMessages(after => readShown(store, id, after), head?.seq ?? 0, limit)
    })
  }

  /** @throws SESSION_NOT_FOUND */
  async uses (caller: Caller, id: string): Promise<readonly SessionUse[]> {
    return await usesIn(await this.audit(caller, id, 0))
  }

  /** `who` is called before each event, and once a second. @throws SESSION_NOT_FOUND first, and once the follower may not see the session */
  async follow (who: CurrentCaller, id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<FeedItem>> {
    return await this.use(async ({ store, runner }) => {
      const owner = await requireOwn(runner, who(), id)
      const greet = async (): Promise<readonly JsonObject[]> => {
        const session = await runner.load(id)
        return session === undefined ? [] : await tellOfWaiting({ store, runner }, session)
      }
      const mayFollow = (): void => { if (!isOwn(who(), { start: { owner } })) throw sessionNotFound(id) }
      const follow = (lost: AbortSignal) => available(followSession(store, id, after, AbortSignal.any([signal, lost]), greet))
      return whileAllowed(this.#options.rights, mayFollow, follow)
    })
  }

  /** The events behind a turn's beginning, until the session waits again. @throws SESSION_NOT_FOUND as soon as the rights of `who` end */
  async * events (who: CurrentCaller, { session: { id }, after, isOwn }: TurnResult, signal: AbortSignal): AsyncGenerator<FeedItem, TurnResult> {
    const idle = yield * this.#untilIdle(await this.follow(who, id, after, signal), id)
    return { ...idle, after, isOwn }
  }

  /** In a skill, `skill:skip` and `skill:cancel` are commands. @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, SESSION_FULL, REQUEST_INVALID */
  async say (wanted: RequestedKind, context: RequestContext, id: string, { text = '', action }: UserInput): Promise<TurnResult> {
    const { caller, key = randomUUID() } = context
    const word = action === undefined ? text.trim().toLowerCase() : ''
    if ((word === 'skill:skip' || word === 'skill:cancel') && isOf((await this.get(wanted, caller, id)).start.engine, SKILL)) {
      if (word === 'skill:skip') return await this.refuse(wanted, context, id, { action: { name: 'skip', data: {} } })
      return await this.#idle(context, id, (await this.cancel(wanted, caller, id)).seq - 1)
    }
    await this.getUsable(wanted, caller, id)
    const { seq } = await this.use(({ runner }) => runner.input(id, { id: key, by: caller.name, text, action: boundedInput(text, action) }))
    return await this.#idle(context, id, seq - 1)
  }

  /**
   * Allows an action that waits for approval in a session. Any caller with the role `approve` may do so, whoever owns the session.
   * @throws ROLE_MISSING, REQUEST_INVALID, SESSION_NOT_FOUND, SESSION_BUSY when nothing waits, SESSION_ENDED, APPROVAL_DECIDED,
   * APPROVAL_OUTDATED
   */
  async approve (wanted: RequestedKind, context: RequestContext, id: string, shown: Omit<NamedAnswer, 'decision' | 'reason'>): Promise<TurnResult> {
    return await this.#answer(wanted, context, id, { ...shown, decision: 'approve' })
  }

  /**
   * Refuses an action that waits for approval in a session that the caller owns.
   * @param otherwise the input that is sent to the session instead, if nothing waits for approval and `shown` names no approval
   * @param shown the approval that is refused. @default the first that waits now
   * @throws SESSION_NOT_FOUND, SESSION_BUSY, SESSION_ENDED, REQUEST_INVALID, APPROVAL_DECIDED, APPROVAL_OUTDATED
   */
  async refuse (wanted: RequestedKind, context: RequestContext, id: string, otherwise?: UserInput, shown?: SeenApproval): Promise<TurnResult> {
    const before = await this.get(wanted, context.caller, id)
    const [held] = openIn(before, 'held')
    const isNamed = shown?.approvalId !== undefined || shown?.digest !== undefined
    if (held === undefined && !isNamed) {
      if (otherwise === undefined) throw nothingWaits(before)
      return await this.say(wanted, context, id, otherwise)
    }
    const { approvalId: named, digest } = shown ?? { approvalId: approvalId(id, held?.effect.id ?? '') }
    return await this.#answer(wanted, context, id, { approvalId: named, digest, decision: 'reject' })
  }

  /** Only the caller's own. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async cancel (wanted: RequestedKind, caller: Caller, id: string): Promise<Session> {
    return await this.use(async ({ runner }) => {
      await ownSession(runner, caller, id, wanted)
      return await runner.stop(id, 'cancel', `cancelled by ${caller.name === '' ? 'its user' : caller.name}`)
    })
  }

  /**
   * Any process goes on with it: what was running is begun again where that does no harm, else its end is unknown.
   * @throws SESSION_NOT_FOUND, SESSION_ENDED
   */
  async redrive (caller: Caller, id: string): Promise<Head> {
    return await this.#reading(caller, id, async ({ store }) => {
      const isOpen = await store.redrive(id)
      const head = await store.head(id)
      if (head === undefined) throw sessionNotFound(id)
      if (!isOpen) throw sessionEnded(id, head.status)
      return head
    })
  }

  /** What the caller may decide about, whoever owns it. @throws REQUEST_INVALID */
  async approvals (caller: Caller, query: ApprovalQuery): ReturnType<typeof listApprovals> {
    return await this.use(opened => listApprovals(opened, this.#options.owners(), caller, query))
  }

  /** Of all callers, in all processes. @see watchChanges @throws SESSIONS_UNAVAILABLE */
  async watchWaiting (onChange: (change?: WaitingChange) => void): Promise<() => void> {
    return await this.use(({ store }) => watchChanges(store, onChange))
  }

  /** @throws APPROVAL_NOT_FOUND */
  async approval (caller: Caller, id: string): ReturnType<typeof findApproval> {
    return await this.use(({ runner }) => findApproval(runner, caller, id))
  }

  /** @throws what `decideApproval` does */
  async decide (context: RequestContext, approval: string, answer: ApprovalAnswer): ReturnType<typeof decideApproval> {
    const decision = await this.use(({ runner }) => decideApproval(runner, context.caller, approval, answer))
    const { session: { id, seq, start } } = decision
    // Whoever has agreed to a move is told whether it was made: that takes a moment.
    return isOf(start.engine, RELEASE) ? { ...decision, session: (await this.#idle(context, id, seq - 1)).session } : decision
  }

  /** An own session, or one in which something waits that the caller may decide about. @throws SESSION_NOT_FOUND */
  async waitingIn (caller: Caller, id: string): ReturnType<typeof waitingFor> {
    return await this.use(({ runner }) => waitingFor(runner, caller, id))
  }

  async #answer (wanted: RequestedKind, context: RequestContext, id: string, answer: NamedAnswer): Promise<TurnResult> {
    const { session } = await this.use(({ runner }) => answerApproval(runner, context.caller, id, answer, wanted))
    return await this.#idle(context, id, session.seq - 1)
  }

  /** Reads only the beginning of the log to know the owner. @throws SESSION_NOT_FOUND */
  async #reading<T> (caller: Caller, id: string, work: (opened: OpenedSessions) => Promise<T>): Promise<T> {
    return await this.use(async opened => {
      await requireOwn(opened.runner, caller, id)
      return await work(opened)
    })
  }

  /** Waits as long as the context's patience; with 0, the lines that the session has shown are not read. */
  async #idle ({ caller, signal, patience = PATIENCE }: RequestContext, id: string, after: number): Promise<TurnResult> {
    return await this.use(async ({ store }) => {
      const events = this.#untilIdle(patience === 0 ? noEvents() : followSession(store, id, after, timeLimit(signal, patience)), id)
      for (;;) {
        const { done, value } = await events.next()
        if (done === true) return { ...value, after, isOwn: isOwn(caller, value.session) }
      }
    })
  }

  async * #untilIdle (events: AsyncGenerator<FeedItem>, id: string): AsyncGenerator<FeedItem, Omit<TurnResult, 'after' | 'isOwn'>> {
    const load = async (session: string): Promise<Session | undefined> => await this.use(({ runner }) => runner.load(session))
    const stdout: string[] = []
    let idle: Session | undefined
    let last = 0
    for await (const each of events) {
      if ('transition' in each) stdout.push(...each.transition.notices.flatMap(({ type, data }) => type === 'stdout' ? [textOf(data['text'])] : []))
      yield each
      if ('transition' in each) last = each.transition.seq
      else if (each.live['type'] !== 'child') continue
      const session = await load(id)
      if (session === undefined || session.seq > last || (session.status === 'running' && !await waitsForPeople(session, load))) continue
      idle = session
      break
    }
    const session = idle ?? await load(id)
    if (session === undefined) throw sessionNotFound(id)
    const children = openChildrenIn(session).length === 0 ? [] : await this.use(({ store }) => openBelow(store, session))
    return { session, stdout, isOpen: session.status === 'running', children }
  }
}

const MAX_OPEN = 1000

/** In bytes, among a caller's last 1,000 sessions, so that old copies are forgotten. */
const [MAX_COPIED, COPIES_LOOKED] = [256 * 1024 * 1024, 1000]

/** A session `id` that has begun already needs no room. @throws TOO_MANY_SESSIONS */
async function requireRoom (store: SessionStore, owner: string, id?: string): Promise<void> {
  if (await store.countOpen(owner) < MAX_OPEN) return
  if (id === undefined || await store.head(id) === undefined) throw tooManySessions(MAX_OPEN)
}

async function forkWithin ({ store, engines, seals }: OpenedSessions, { name: owner }: Caller, id: string, upTo: number | undefined): Promise<Session> {
  await requireRoom(store, owner)
  const copied = (await allHeads(store, { owner }, COPIES_LOOKED)).reduce((sum, head) => sum + (head.copied ?? 0), 0)
  try {
    return await forkSession({ store, engines, seals, from: id, to: newId(), owner, upTo, most: MAX_COPIED - copied, by: owner })
  } catch (error) {
    if (error instanceof LogUntrusted) throw sessionEnded(id, `LOG_UNTRUSTED: ${error.message}`)
    if (error instanceof ForkTooLarge) throw forksTooLarge(MAX_COPIED / 1024 ** 2)
    throw error instanceof NothingToFork ? forkImpossible(id) : error
  }
}

function newId (): string {
  return randomUUID().replaceAll('-', '')
}

/** The same key of the same caller gives the same id. */
function idOfKey (caller: Caller, key: string): string {
  return createHash('sha256').update(JSON.stringify([caller.name, key])).digest('hex').slice(0, 32)
}

async function * noEvents (): AsyncGenerator<never> {}

/** `check` throws when the follower may not see events any more; `follow` ends when its signal aborts. */
async function * whileAllowed (rights: RightsWatch, check: () => void, follow: (lost: AbortSignal) => AsyncGenerator<FeedItem>): AsyncGenerator<FeedItem> {
  const lost = new AbortController()
  const leave = rights.watch(() => refusalBy(check), why => { lost.abort(why) })
  try {
    for await (const each of follow(lost.signal)) {
      check()
      yield each
    }
    if (lost.signal.aborted) throw lost.signal.reason
  } finally {
    leave()
  }
}

/** Reads the first item at once, so that an unreachable store is noticed before the reply has begun. */
async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** If the store fails, even between two items, it throws SESSIONS_UNAVAILABLE. */
async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw storeErrorOf(error)
  }
}

/** Other errors are returned unchanged. */
export function storeErrorOf (error: unknown): unknown {
  if (error instanceof EngineUnknown) return sessionsUnavailable(`${error.message}; a process of the version that has it goes on with the session`)
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}

/** In bytes. */
const MAX_INPUT = 512 * 1024

/** In bytes of each of stdout and stderr; the service's own commands have the same limit. */
const KEPT = 64 * 1024

/** Cuts the outputs of commands before they are logged. @throws REQUEST_INVALID when the input is still too large */
export function boundedInput (text: string, action: Action | undefined): Action | undefined {
  const bounded = action?.name === 'command_result' ? { ...action, data: clipOutput(action.data) } : action
  const size = Buffer.byteLength(text) + (bounded === undefined ? 0 : Buffer.byteLength(stringifyJson(bounded)))
  if (size > MAX_INPUT) throw requestInvalid(`expected an input of at most ${MAX_INPUT} bytes, got ${size}`, { part: 'body' })
  return bounded
}

function clipOutput ({ stdout, stderr, ...rest }: JsonObject): JsonObject {
  const outputs = Object.entries({ stdout, stderr }).filter(([, value]) => value !== undefined)
  return { ...rest, ...Object.fromEntries(outputs.map(([name, value]) => [name, typeof value === 'string' ? clipped(value) : value])) as JsonObject }
}

function clipped (text: string): string {
  if (text.length * 3 <= KEPT) return text
  const clip = new Clip(KEPT)
  clip.append(Buffer.from(text))
  return clip.text()
}
