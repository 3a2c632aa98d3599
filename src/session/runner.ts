import { randomUUID } from 'node:crypto'
import { approvalOutdated, commitDisabled, requestInvalid, type ServiceError, sessionBusy, sessionEnded, sessionFull } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import type { Advanced, Engines } from './advance-session.ts'
import type { Approval, RecordedDecision, PastApproval, PersonsAnswer } from './approvals.ts'
import { childId, openChildrenIn } from './child.ts'
import { isWhole, type Performer } from './effects.ts'
import type { Refused } from './engine.ts'
import { type PolicyContext, createGate, NO_POLICY_CONTEXT } from './gate.ts'
import { type Action, type Effect, ENDED, type Fact, type Start, type StopCause, type LogEntry } from './model.ts'
import { type Seals, SessionLog, UNSEALED } from './session-log.ts'
import { type Renewed, type SessionStore, SessionStoreError, type UnknownSession } from './store/session-store.ts'
import { acceptsInput, isWaiting, MAX_LOG_BYTES, openIn, type Session } from './session.ts'
import {
  ApprovalLog, FactWriter, type HeldDisks, type HeldTerminals, IN_TERMINAL, NO_DISKS, NO_TERMINALS, type Replica, SessionPlacement
} from './fact-writer.ts'
import { EffectDriver, RunningEffects, Watches } from './effect-driver.ts'
import { Recovery } from './recovery.ts'

/** At most this long between two takes, in ms; earlier when the store says so. */
const POLL = 5000

/** Sessions in one request. */
const TAKEN = 50

interface LeasesOptions {
  readonly store: SessionStore
  readonly replica: string
  /** In ms of silence, after which another replica takes over the sessions. */
  readonly lease: number
  readonly log: Log
  readonly driven: () => readonly string[]
  readonly onRenewed: (renewed: Renewed) => Promise<void>
  readonly engines: ReadonlySet<string>
  readonly onUnknown: (sessions: readonly UnknownSession[]) => void
  readonly onTaken: (id: string) => Promise<void>
  /** This replica then takes sessions later than others, so that these do not lose them to it again. */
  readonly isBehind: () => boolean
  readonly track: (work: Promise<void>) => void
}

/** Renews this replica's leases, and takes over sessions that are due. */
class Leases {
  readonly #options: LeasesOptions
  #poll: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined
  #isClosed = false
  #problem: string | undefined

  constructor (options: LeasesOptions) {
    this.#options = options
  }

  open (): void {
    const { lease, track } = this.#options
    this.#renewal = setInterval(() => { track(this.#renew()) }, lease / 3)
    this.#renewal.unref()
    track(this.#take())
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#poll)
    clearInterval(this.#renewal)
  }

  async #renew (): Promise<void> {
    const { store, replica, lease, log, driven, onRenewed } = this.#options
    const ids = driven()
    if (ids.length === 0) return
    try {
      for (const renewed of await store.renew(replica, ids, lease)) await onRenewed(renewed)
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      log.warn({ reason: error.message }, 'the sessions of this process could not be renewed')
    }
  }

  async #take (): Promise<void> {
    const { store, replica, lease, log, engines, onUnknown, onTaken, isBehind, track } = this.#options
    let next: number | undefined
    try {
      const taken = await store.take(replica, TAKEN, lease, engines)
      next = taken.ids.length === TAKEN ? 0 : taken.next
      this.#problem = undefined
      onUnknown(taken.unknown ?? [])
      await Promise.all(taken.ids.map(onTaken))
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#problem) log.warn({ reason: message }, 'no sessions could be taken that are due')
      this.#problem = message
    }
    if (this.#isClosed) return
    this.#poll = setTimeout(() => { track(this.#take()) }, Math.min(next ?? POLL, POLL) + (isBehind() ? lease / 8 : 0))
    this.#poll.unref()
  }
}

/** A session with this many log entries accepts no further input. */
const MAX_LOG_ENTRIES = 10_000

/** An input that a user sends to a session. */
interface SessionInput {
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
function inputFact (session: Session, { id: input, by, text, action }: SessionInput): Fact | undefined {
  const { id, status, engine } = session
  if (session.lastInput === input) return undefined
  if (ENDED.has(status)) throw sessionEnded(id, status)
  const refused = engine.refuses(text, action)
  if (refused !== undefined) throw refusalOf(refused, session)
  if (!acceptsInput(session)) throw sessionBusy(id, status)
  if (session.seq >= MAX_LOG_ENTRIES) throw sessionFull(id, `${MAX_LOG_ENTRIES} transitions`)
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
function stopFact (session: Session, by: StopCause, reason: string): Fact | undefined {
  if (ENDED.has(session.status)) return undefined
  const isWriting = openIn(session, 'begun').some(({ effect }) => isWhole(effect))
  if (isWriting) throw sessionBusy(session.id, session.status, 'it is writing files; try again when it has')
  return { kind: 'stopped', by, reason }
}

/** When the replica that drives a session (performs its effects) was silent for this time, in ms, another replica takes over the session. */
const LEASE = 8000

/** The objects that a session runner uses, and its settings. */
export interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** Gives the operator's rules as they are now. @default only the rules that a session's log records from its start count */
  readonly circumstances?: PolicyContext
  /** Makes and checks the seals (signatures) of transitions. @default nothing is sealed */
  readonly seals?: Seals
  /** The terminals that this process holds. It performs the effects of the sessions whose commands run in them. @default none */
  readonly terminals?: HeldTerminals
  /** The disks with workspaces that this process has. It performs the effects of the sessions that work on them. @default none */
  readonly disks?: HeldDisks
  /** Called once for each transition that this process has written. */
  readonly onWritten?: (session: Session, transition: LogEntry) => void
  /** Called with each session that this process has ended. */
  readonly onEnded?: (session: Session) => void
  /** Called with each session that waits for a person, or has ended, after a transition that this process wrote. `close` waits for the promise. */
  readonly onSettled?: (session: Session) => Promise<void>
  /** When the replica that drives a session was silent for this time, in ms, another replica takes over the session. @default 8 s */
  readonly lease?: number
}

/**
 * Runs sessions: writes a transition (log entry), performs the effects that the entry begins, and writes the end of each effect as a further transition.
 * Every replica (service process) can add a fact to any session. Only the session's driver, one replica, begins effects. When that replica stops,
 * another one takes over its sessions.
 */
export class SessionRunner {
  readonly #options: RunnerOptions
  readonly #replica: Replica
  readonly #log: SessionLog
  readonly #writer: FactWriter
  readonly #driver: EffectDriver
  readonly #recovery: Recovery
  readonly #approvals: ApprovalLog
  readonly #residence: SessionPlacement
  readonly #running = new RunningEffects()
  readonly #watches: Watches
  readonly #leases: Leases
  readonly #calls: Array<() => void> = []
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor (options: RunnerOptions) {
    this.#options = options
    const { store, engines, performer, log, seals = UNSEALED, circumstances = NO_POLICY_CONTEXT, lease = LEASE } = options
    const { terminals = NO_TERMINALS, disks = NO_DISKS } = options
    this.#replica = { id: randomUUID(), lease, closing: this.#closing.signal }
    const replica = this.#replica
    this.#log = new SessionLog({ store, engines, seals, log, by: replica.id })
    this.#residence = new SessionPlacement(store, terminals, disks)
    this.#writer = new FactWriter({
      replica,
      engines,
      sessions: this.#log,
      residence: this.#residence,
      gate: createGate(circumstances),
      log,
      onWritten: advanced => { this.#performAll(advanced) },
      onLost: id => { this.#running.abort(id) }
    })
    const commit = async (id: string, decide: (session: Session) => Fact | undefined): Promise<Session> => await this.#writer.commit(id, decide)
    this.#approvals = new ApprovalLog(this.#log, circumstances.about, commit)
    this.#watches = new Watches(
      store,
      (id, seq) => { if (this.#isNews(id, seq)) this.#track(this.#recovery.recover(id, false)) },
      live => { this.#onCall(live) }
    )
    this.#driver = new EffectDriver({
      replica,
      store,
      performer,
      running: this.#running,
      watches: this.#watches,
      log,
      commit,
      onFailed: async (id, error) => { await this.#recovery.failed(id, error) }
    })
    this.#recovery = new Recovery({
      replica,
      store,
      sessions: this.#log,
      writer: this.#writer,
      driver: this.#driver,
      performer,
      running: this.#running,
      residence: this.#residence,
      log
    })
    this.#leases = new Leases({
      store,
      replica: replica.id,
      lease,
      log,
      driven: () => this.#running.sessions,
      onRenewed: async ({ id, seq, isYours }) => { if (!isYours || this.#isNews(id, seq)) await this.#recovery.recover(id, false) },
      onTaken: async id => { await this.#recovery.recover(id, true) },
      engines: new Set(engines.keys()),
      onUnknown: sessions => { this.#recovery.noteUnknown(sessions) },
      isBehind: () => this.#recovery.isBehind,
      track: work => { this.#track(work) }
    })
  }

  /**
   * Begins to renew this replica's leases, and to take over sessions from the store: those of replicas that have stopped, and those that have waited
   * too long for a person.
   */
  open (): void {
    const { store, disks = NO_DISKS } = this.#options
    // Other processes call by the id of a disk when they have added to one of its sessions. Where a call is missed, the end of the lease comes to light.
    const listener = { onAppend () {}, onLive: (live: JsonObject) => { this.#onCall(live) }, onGap () {} }
    for (const id of disks.ids()) this.#track(store.watch(id, listener).then(stop => { this.#calls.push(stop) }))
    this.#leases.open()
  }

  waits (): readonly string[] {
    return this.#recovery.waits()
  }

  unknown (): ReadonlyMap<string, number> {
    return this.#recovery.unknown()
  }

  /**
   * Aborts the effects that run in this process. When an aborted effect has a result all the same, the result is written. The other effects are
   * left to another replica, which can take the sessions at once.
   */
  async close (): Promise<void> {
    const left = this.#running.sessions
    this.#closing.abort()
    this.#leases.close()
    this.#running.abortAll()
    while (this.#work.size > 0) await Promise.all(this.#work)
    await this.#watches.closeAll()
    for (const stop of this.#calls) stop()
    await this.#options.store.renew(this.#replica.id, left, 0).catch(() => {})
  }

  /** Begins a session; gives the existing session when one was begun with this id already. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    const session = await this.#writer.start(id, start)
    const { terminal } = session.start
    if (terminal !== undefined && !this.#residence.isHere(session)) this.#options.store.publish(terminal, { type: IN_TERMINAL, session: id })
    return session
  }

  /** The name of a session's owner, from the first entry of the log alone; `undefined` for a session that does not exist. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    return await this.#log.ownerOf(id)
  }

  /** Computes a session from its log; `undefined` for a session that does not exist. @throws EngineDiverged, EngineUnknown, SessionStoreError */
  async load (id: string): Promise<Session | undefined> {
    return await this.#log.load(id)
  }

  /** Adds an input of a session's user to the session's log. @throws SESSION_NOT_FOUND, SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID */
  async input (id: string, input: SessionInput): Promise<Session> {
    return await this.#writer.commit(id, session => inputFact(session, input))
  }

  /**
   * Writes a person's decision about an effect that waits for an approval. An equal answer of the same person counts once, however often it
   * comes.
   * @param mayShow whether the person may be shown another effect that waits, in an error
   * @throws SESSION_NOT_FOUND, SESSION_ENDED, APPROVAL_NOT_FOUND, APPROVAL_OUTDATED, APPROVAL_DECIDED
   */
  async decide (
    id: string,
    effect: string,
    answer: PersonsAnswer,
    mayShow: (effect: Effect) => boolean = () => true
  ): Promise<{ readonly session: Session, readonly decided: RecordedDecision }> {
    return await this.#approvals.decide(id, effect, answer, mayShow)
  }

  /** The approvals for which a session waits, each with the content as it would be shown to a person now. */
  approvals (session: Session): readonly Approval[] {
    return this.#approvals.of(session)
  }

  /** Reads a past approval and its answer from the log; `undefined` for an effect about which nobody was asked. @throws SessionStoreError */
  async pastApproval (session: Session, effect: string): Promise<PastApproval | undefined> {
    return await this.#approvals.past(session, effect)
  }

  /**
   * Stops a session and, before it, its children. Only a session that is writing files cannot be stopped.
   * @throws SESSION_NOT_FOUND, SESSION_BUSY
   */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    const stopped = new Set<string>()
    const known = await this.load(id)
    if (known !== undefined) await this.#stopBelow(known, stopped, by, reason)
    let before: Session | undefined
    const session = await this.#writer.commit(id, each => {
      before = each
      return stopFact(each, by, reason)
    })
    // Another child has perhaps begun while these were stopped.
    if (before !== undefined) await this.#stopBelow(before, stopped, by, reason)
    return session
  }

  /** Stops the children of a session. @param stopped ids of sessions that need no second stop; each child that is stopped here is added to this set */
  async #stopBelow (parent: Session, stopped: Set<string>, by: StopCause, reason: string): Promise<void> {
    for (const { effect } of openChildrenIn(parent)) {
      const child = childId(parent.id, effect.id)
      if (stopped.has(child) || await this.load(child) === undefined) continue
      stopped.add(child)
      await this.stop(child, by, reason)
    }
  }

  /** Does what a written transition leads to: calls the callbacks, aborts effects that the session has ended, performs effects that it has begun. */
  #performAll ({ session, transition }: Advanced): void {
    const { onWritten, onEnded, onSettled } = this.#options
    const { begun, notices } = transition
    onWritten?.(session, transition)
    const { terminal, disk } = session.start
    if (terminal !== undefined || disk !== undefined) this.#keepWatching(session)
    if (terminal === undefined && disk !== undefined && !ENDED.has(session.status) && !this.#residence.isHere(session)) {
      this.#options.store.publish(disk.id, { type: IN_TERMINAL, session: session.id })
    }
    this.#driver.abortStale(session)
    if (notices.some(({ type }) => type === 'done')) onEnded?.(session)
    if (onSettled !== undefined && (ENDED.has(session.status) || isWaiting(session))) this.#track(onSettled(session))
    for (const { id } of begun) {
      const effect = session.open.get(id)?.effect
      if (effect !== undefined && effect.kind !== 'wait') this.#track(this.#driver.perform(session, effect))
    }
  }

  /**
   * Watches a session whose terminal or disk is of this process, until the session ends: when another process adds a fact to the session,
   * this process has to perform the effects that follow.
   */
  #keepWatching (session: Session): void {
    if (this.#residence.isHere(session)) this.#watches.keep(session.id)
    else if (ENDED.has(session.status)) this.#watches.release(session.id)
  }

  #onCall ({ type, session }: JsonObject): void {
    if (type === IN_TERMINAL && typeof session === 'string') this.#track(this.#adopt(session))
  }

  /** Takes over a session that another process has started or added to, and whose terminal or disk is of this process. */
  async #adopt (id: string): Promise<void> {
    const session = await this.#log.load(id)
    if (session === undefined || !this.#residence.isHere(session)) return
    this.#watches.keep(id)
    await this.#recovery.recover(id, false)
  }

  /** Whether a transition of a session is new to this process. @param seq number of the transition */
  #isNews (id: string, seq: number): boolean {
    return seq > (this.#log.peek(id)?.seq ?? 0)
  }

  /** Keeps track of background work, so that `close` can wait for it. */
  #track (work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#options.log.error({ reason: (error as Error).message }, 'sessions: unexpected')
    }).finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}
