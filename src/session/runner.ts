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

/** Log entries of a session; with so many it accepts no further input. */
const MAX_LOG_ENTRIES = 10_000

interface SessionInput {
  /** A request that is sent twice counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
  readonly action?: Action | undefined
}

/** `undefined` for a repeated input. @throws SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID, APPROVAL_OUTDATED, COMMIT_DISABLED */
function inputFact (session: Session, { id: input, by, text, action }: SessionInput): Fact | undefined {
  const { id, status, engine } = session
  if (session.lastInput === input) return undefined
  if (ENDED.has(status)) throw sessionEnded(id, status)
  const refused = engine.refuses(text, action)
  if (refused !== undefined) throw refusalOf(refused, session)
  if (!acceptsInput(session)) throw sessionBusy(id, status)
  if (session.seq >= MAX_LOG_ENTRIES) throw sessionFull(id, `${MAX_LOG_ENTRIES} transitions`)
  if (session.bytes >= MAX_LOG_BYTES) throw sessionFull(id, `a log of ${MAX_LOG_BYTES} bytes`)
  return { kind: 'input', id: input, by, text, action }
}

function refusalOf ({ kind, message }: Refused, { id, status }: Session): ServiceError {
  switch (kind) {
    case 'busy': return sessionBusy(id, status, message)
    case 'invalid': return requestInvalid(message, { part: 'body' })
    case 'outdated': return approvalOutdated(id, undefined)
    case 'disabled': return commitDisabled(id, message)
  }
}

/** @throws SESSION_BUSY while the session writes files or commits */
function stopFact (session: Session, by: StopCause, reason: string): Fact | undefined {
  if (ENDED.has(session.status)) return undefined
  const isWriting = openIn(session, 'begun').some(({ effect }) => isWhole(effect))
  if (isWriting) throw sessionBusy(session.id, session.status, 'it is writing files; try again when it has')
  return { kind: 'stopped', by, reason }
}

/** In ms of silence, after which another replica takes over. */
const LEASE = 8000

interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** @default only the rules in a session's log count */
  readonly circumstances?: PolicyContext
  /** @default nothing is sealed */
  readonly seals?: Seals
  readonly terminals?: HeldTerminals
  readonly disks?: HeldDisks
  readonly onWritten?: (session: Session, transition: LogEntry) => void
  readonly onEnded?: (session: Session) => void
  /** Called after a log entry of this process; `close` waits for the promise. */
  readonly onSettled?: (session: Session) => Promise<void>
  /** In ms. @default 8 s */
  readonly lease?: number
}

/** Any replica can add a fact to any session, but only its driver begins effects. When it stops, another takes over. */
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

  open (): void {
    const { store, disks = NO_DISKS } = this.#options
    // Processes call by a disk's id when they add to one of its sessions. A missed call shows at the lease's end.
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

  /** An aborted effect's result is still written. The rest is left to another replica, which can take over at once. */
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

  /** Gives the existing session of this id, if any. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    const session = await this.#writer.start(id, start)
    const { terminal } = session.start
    if (terminal !== undefined && !this.#residence.isHere(session)) this.#options.store.publish(terminal, { type: IN_TERMINAL, session: id })
    return session
  }

  /** From the first log entry alone; `undefined` for an unknown session. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    return await this.#log.ownerOf(id)
  }

  /** `undefined` for an unknown session. @throws EngineDiverged, EngineUnknown, SessionStoreError */
  async load (id: string): Promise<Session | undefined> {
    return await this.#log.load(id)
  }

  /** @throws SESSION_NOT_FOUND, SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID */
  async input (id: string, input: SessionInput): Promise<Session> {
    return await this.#writer.commit(id, session => inputFact(session, input))
  }

  /** An equal answer of the same person counts once. @throws SESSION_NOT_FOUND, SESSION_ENDED, APPROVAL_NOT_FOUND, APPROVAL_OUTDATED, APPROVAL_DECIDED */
  async decide (
    id: string,
    effect: string,
    answer: PersonsAnswer,
    mayShow: (effect: Effect) => boolean = () => true
  ): Promise<{ readonly session: Session, readonly decided: RecordedDecision }> {
    return await this.#approvals.decide(id, effect, answer, mayShow)
  }

  /** With the content as it would be shown now. */
  approvals (session: Session): readonly Approval[] {
    return this.#approvals.of(session)
  }

  /** `undefined` where nobody was asked. @throws SessionStoreError */
  async pastApproval (session: Session, effect: string): Promise<PastApproval | undefined> {
    return await this.#approvals.past(session, effect)
  }

  /** Stops its children first. A session that writes files cannot be stopped. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    const stopped = new Set<string>()
    const known = await this.load(id)
    if (known !== undefined) await this.#stopBelow(known, stopped, by, reason)
    let before: Session | undefined
    const session = await this.#writer.commit(id, each => {
      before = each
      return stopFact(each, by, reason)
    })
    // Another child may have begun meanwhile.
    if (before !== undefined) await this.#stopBelow(before, stopped, by, reason)
    return session
  }

  /** @param stopped ids that need no second stop; grows by each child stopped here */
  async #stopBelow (parent: Session, stopped: Set<string>, by: StopCause, reason: string): Promise<void> {
    for (const { effect } of openChildrenIn(parent)) {
      const child = childId(parent.id, effect.id)
      if (stopped.has(child) || await this.load(child) === undefined) continue
      stopped.add(child)
      await this.stop(child, by, reason)
    }
  }

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

  /** When another process adds a fact to a session of this terminal or disk, this process performs what follows. */
  #keepWatching (session: Session): void {
    if (this.#residence.isHere(session)) this.#watches.keep(session.id)
    else if (ENDED.has(session.status)) this.#watches.release(session.id)
  }

  #onCall ({ type, session }: JsonObject): void {
    if (type === IN_TERMINAL && typeof session === 'string') this.#track(this.#adopt(session))
  }

  async #adopt (id: string): Promise<void> {
    const session = await this.#log.load(id)
    if (session === undefined || !this.#residence.isHere(session)) return
    this.#watches.keep(id)
    await this.#recovery.recover(id, false)
  }

  #isNews (id: string, seq: number): boolean {
    return seq > (this.#log.peek(id)?.seq ?? 0)
  }

  #track (work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#options.log.error({ reason: (error as Error).message }, 'sessions: unexpected')
    }).finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}
