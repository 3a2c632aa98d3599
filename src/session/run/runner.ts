import { randomUUID } from 'node:crypto'
import { type JsonObject } from '../../base/json.ts'
import { type Log } from '../../base/log.ts'
import { type Advanced } from '../advance.ts'
import { type Approval } from '../approval.ts'
import { childId, openChildrenIn } from '../child.ts'
import { type Decided, type PastApproval, type PersonsAnswer } from '../decide.ts'
import { type Engines } from '../fold.ts'
import { type Circumstances, createGate, NO_CIRCUMSTANCES } from '../gate.ts'
import { type Effect, ENDED, type Fact, type Start, type StopCause, type Transition } from '../model.ts'
import { type Performer } from '../performer.ts'
import { type Seals, UNSEALED } from '../seal.ts'
import { isWaiting, type Session } from '../session.ts'
import { SessionLog } from '../session-log.ts'
import { type SessionStore } from '../session-store.ts'
import { Approvals } from './approvals.ts'
import { EffectDriver } from './effect-driver.ts'
import { FactWriter, type Replica } from './fact-writer.ts'
import { inputFact, type SessionInput, stopFact } from './input-fact.ts'
import { Leases } from './leases.ts'
import { Recovery } from './recovery.ts'
import { type HeldDisks, type HeldTerminals, IN_TERMINAL, NO_DISKS, NO_TERMINALS, Residence } from './residence.ts'
import { RunningEffects } from './running-effects.ts'
import { Watches } from './watches.ts'

/** When the replica that drives a session (performs its effects) was silent for this time, in ms, another replica takes over the session. */
const LEASE = 8000

/** The objects that a session runner uses, and its settings. */
export interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** Gives the operator's rules as they are now. @default only the rules that a session's log records from its start count */
  readonly circumstances?: Circumstances
  /** Makes and checks the seals (signatures) of transitions. @default nothing is sealed */
  readonly seals?: Seals
  /** The terminals that this process holds. It performs the effects of the sessions whose commands run in them. @default none */
  readonly terminals?: HeldTerminals
  /** The disks with workspaces that this process has. It performs the effects of the sessions that work on them. @default none */
  readonly disks?: HeldDisks
  /** Called once for each transition that this process has written. */
  readonly onWritten?: (session: Session, transition: Transition) => void
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
  readonly #approvals: Approvals
  readonly #residence: Residence
  readonly #running = new RunningEffects()
  readonly #watches: Watches
  readonly #leases: Leases
  readonly #calls: Array<() => void> = []
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor (options: RunnerOptions) {
    this.#options = options
    const { store, engines, performer, log, seals = UNSEALED, circumstances = NO_CIRCUMSTANCES, lease = LEASE } = options
    const { terminals = NO_TERMINALS, disks = NO_DISKS } = options
    this.#replica = { id: randomUUID(), lease, closing: this.#closing.signal }
    const replica = this.#replica
    this.#log = new SessionLog({ store, engines, seals, log, by: replica.id })
    this.#residence = new Residence(store, terminals, disks)
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
    this.#approvals = new Approvals(this.#log, circumstances.about, commit)
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

  /** What the sessions wait for that this process has left to others, in words. */
  waits (): readonly string[] {
    return this.#recovery.waits()
  }

  /** How many sessions wait for an engine that no process seems to have, by engine. */
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
  ): Promise<{ readonly session: Session, readonly decided: Decided }> {
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
