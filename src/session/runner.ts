import { randomUUID } from 'node:crypto'
import { approvalDecided, approvalNotFound, approvalOutdated, ServiceError, sessionBusy, sessionEnded, sessionNotFound } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { KeyedMutex } from '../runtime/concurrency.ts'
import type { Log } from '../runtime/telemetry.ts'
import { advance, type Advanced, begin, EngineDiverged, type Engines, EngineUnknown, type Stamp } from './advance-session.ts'
import {
  type AnswerFact, type Approval, approvalId, approvalOf, approvalsIn, decisionOn, describeApproval, isSameAnswer, type PersonsAnswer,
  type RecordedDecision
} from './approvals.ts'
import { type ActiveEffect, type Outcome, type Performer, rowOf } from './effects.ts'
import { createGate, NO_POLICY_CONTEXT, owingGate, type PolicyContext } from './gate.ts'
import { type Effect, ENDED, type Fact, type LogEntry, type Start, type StopCause } from './model.ts'
import { RunningEffects, SessionTurns, WaitsForOthers, Watches } from './replica-state.ts'
import { childId, driverOf, inputFact, isWaiting, openChildrenIn, type OpenEffect, openIn, owedNow, type Session, type SessionInput } from './session.ts'
import { type AroundAppend, LogLost, type Seals, SessionLog, UNSEALED } from './session-log.ts'
import { type Append, retryUntilClosed, type SessionStore, SessionStoreError, type Taken } from './store/session-store.ts'

/** In ms of silence, after which another replica takes over. */
const LEASE = 8000

/** At most this long between two takes of sessions that are due, in ms; earlier when the store says so. And sessions in one take. */
const [POLL, TAKEN] = [5000, 50]

/** In ms, between two looks whether there is room for sessions that are due. */
const FULL = 250

/** The live message that tells the holder of a terminal or disk that a session of it has to go on. */
const IN_TERMINAL = 'terminal.session'

interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** @default only the rules in a session's log count */
  readonly circumstances?: PolicyContext
  /** @default nothing is sealed */
  readonly seals?: Seals
  readonly terminals?: { has (terminal: string): boolean }
  readonly disks?: { has (disk: string): boolean, ids (): readonly string[] } | undefined
  readonly around?: AroundAppend | undefined
  /** Called after a log entry of this process; `close` waits for the promise. */
  readonly onWritten?: (session: Session, transition: LogEntry) => Promise<void> | undefined
  readonly onEnded?: ((session: Session) => void) | undefined
  /** Called when this replica goes on with a session that another one had begun, and left. */
  readonly onTakeover?: ((session: Session) => void) | undefined
  /** Sessions of which something is performed at a time. @default no limit */
  readonly concurrency?: number | undefined
  /** The same for one owner. @default no limit */
  readonly concurrencyOf?: (owner: string) => number | undefined
  /** In ms. @default 8 s */
  readonly lease?: number
}

/** The fact that follows from a session's state, or `undefined` to leave the session as it is. */
type Decide = (session: Session) => Fact | undefined

/**
 * Runs the sessions of one replica (service process): each fact is appended to the session's log, then the effects that follow from it are
 * performed, and their results are facts again. Any replica can add a fact to any session, but only its driver begins effects. The driver renews
 * its leases; when it stops, another replica takes its sessions over, and repeats or ends what was begun. The holder of a session's terminal
 * drives it; where it works on files, any process that has their disk.
 */
export class SessionRunner {
  readonly #options: RunnerOptions
  readonly #store: SessionStore
  readonly #id = randomUUID()
  readonly #lease: number
  readonly #circumstances: PolicyContext
  readonly #gate: ReturnType<typeof createGate>
  readonly #log: SessionLog
  readonly #lock = new KeyedMutex()
  readonly #running = new RunningEffects()
  readonly #turns: SessionTurns
  readonly #watches: Watches
  readonly #waits: WaitsForOthers
  readonly #calls: Array<() => void> = []
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #poll: NodeJS.Timeout | undefined
  /** When sessions were last asked for, in ms of `performance.now()`. */
  #asked = -Infinity
  #renewal: NodeJS.Timeout | undefined
  #takeProblem: string | undefined

  constructor (options: RunnerOptions) {
    const { store, engines, log, seals = UNSEALED, circumstances = NO_POLICY_CONTEXT, lease = LEASE } = options
    this.#options = options
    this.#store = store
    this.#lease = lease
    this.#turns = new SessionTurns(options.concurrency, options.concurrencyOf)
    this.#circumstances = circumstances
    this.#gate = createGate(circumstances)
    this.#log = new SessionLog(store, engines, seals, log, this.#id, options.around)
    this.#waits = new WaitsForOthers(log, lease)
    this.#watches = new Watches(
      store,
      (id, seq) => { if (this.#isNews(id, seq)) this.#track(this.#recover(id)) },
      live => { this.#onCall(live) }
    )
  }

  open (): void {
    // Processes call by a disk's id when they add to one of its sessions. A missed call shows at the lease's end.
    const listener = { onAppend () {}, onLive: (live: JsonObject) => { this.#onCall(live) }, onGap () {} }
    for (const id of this.#options.disks?.ids() ?? []) this.#track(this.#store.watch(id, listener).then(stop => { this.#calls.push(stop) }))
    this.#renewal = setInterval(() => { this.#track(this.#renew()) }, this.#lease / 3)
    this.#renewal.unref()
    this.#track(this.#take())
  }

  /** An aborted effect's result is still written. The rest is left to another replica, which can take over at once. */
  async close (): Promise<void> {
    const left = this.#running.sessions
    this.#closing.abort()
    clearTimeout(this.#poll)
    clearInterval(this.#renewal)
    for (const session of left) this.#running.abort(session)
    while (this.#work.size > 0) await Promise.all(this.#work)
    await this.#watches.closeAll()
    for (const stop of this.#calls) stop()
    await this.#store.renew(this.#id, left, 0).catch(() => {})
  }

  waits (): readonly string[] {
    const { queued } = this.#turns
    const wait = queued === 1 ? 'session waits' : 'sessions wait'
    const turns = queued === 0 ? [] : [`${queued} ${wait} for a turn, since as many run as SESSION_CONCURRENCY or running= of their owner allows`]
    return [...turns, ...this.#waits.describe()]
  }

  /** How many sessions are performed here, by kind. */
  running (): ReadonlyMap<string, number> {
    return this.#running.kinds()
  }

  /** How many sessions wait here for their turn. */
  queued (): number {
    return this.#turns.queued
  }

  unknown (): ReadonlyMap<string, number> {
    return this.#waits.engines()
  }

  /** From the first log entry alone; `undefined` for an unknown session. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    return await this.#log.ownerOf(id)
  }

  /** `undefined` for an unknown session. @throws EngineDiverged, EngineUnknown, SessionStoreError */
  async load (id: string): Promise<Session | undefined> {
    return await this.#log.load(id)
  }

  /** Gives the existing session of this id, if any. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    const session = await this.#lock.run(id, async () => {
      const known = await this.#log.load(id)
      if (known !== undefined) return known
      const engine = this.#options.engines.get(start.engine)
      if (engine === undefined) throw new EngineUnknown(`no engine ${start.engine} is here`)
      const isElsewhere = await this.#isElsewhere({ start, status: 'running' })
      const advanced = begin(id, start, engine, this.#isClosed || isElsewhere ? owingGate : this.#gate, this.#stamp())
      if (await this.#log.append(advanced, undefined, isElsewhere ? undefined : this.#driverOf(advanced.session), this.#dueOf(advanced.session))) {
        return this.#follow(advanced)
      }
      return await this.#log.load(id) ?? advanced.session
    })
    if (session.start.terminal !== undefined) this.#call(session.start.terminal, session)
    return session
  }

  /** @throws SESSION_NOT_FOUND, SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID */
  async input (id: string, input: SessionInput): Promise<Session> {
    return await this.submit(id, session => inputFact(session, input))
  }

  /** Stops its children first. A session that writes files cannot be stopped. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    const stopped = new Set<string>()
    const stopBelow = async (parent: Session): Promise<void> => {
      for (const { effect } of openChildrenIn(parent)) {
        const child = childId(id, effect.id)
        if (stopped.has(child) || await this.load(child) === undefined) continue
        stopped.add(child)
        await this.stop(child, by, reason)
      }
    }
    const known = await this.load(id)
    if (known !== undefined) await stopBelow(known)
    let before = known
    const session = await this.submit(id, each => {
      before = each
      return stopFact(each, by, reason)
    })
    // Another child may have begun meanwhile.
    if (before !== undefined) await stopBelow(before)
    return session
  }

  /** With the content as it would be shown now. */
  approvals (session: Session): readonly Approval[] {
    return approvalsIn(session, this.#circumstances.about)
  }

  /** `undefined` where nobody was asked. @throws SessionStoreError */
  async pastApproval (session: Session, effect: string) {
    const asked = session.asked.get(effect)
    if (asked === undefined) return undefined
    const entry = async (seq: number | undefined) => seq === undefined ? undefined : await this.#log.transition(session.id, seq)
    const [asking, deciding] = await Promise.all([entry(asked.seq), entry(asked.decided)])
    const held = asking?.held.find(each => each.effect.id === effect)
    if (asking === undefined || held === undefined) return undefined
    return {
      effect: held.effect,
      asked: approvalOf(session, { effect: held.effect, question: { ...held, at: asking.at } }),
      decided: deciding?.fact.kind === 'decided' ? { ...deciding.fact, at: deciding.at } : undefined
    }
  }

  /** An equal answer of the same person counts once. @throws SESSION_NOT_FOUND, SESSION_ENDED, APPROVAL_NOT_FOUND, APPROVAL_OUTDATED, APPROVAL_DECIDED */
  async decide (
    id: string,
    effect: string,
    answer: PersonsAnswer,
    mayShow: (effect: Effect) => boolean = () => true
  ): Promise<{ readonly session: Session, readonly decided: RecordedDecision }> {
    let written: AnswerFact | undefined
    const session = await this.submit(id, before => (written = decisionOn(before, effect, answer, this.#circumstances.about)))
    const described = (isWanted: (effect: Effect) => boolean) => openIn(session, 'held')
      .filter(open => isWanted(open.effect)).map(open => describeApproval(approvalOf(session, open, this.#circumstances.about)))[0]
    if (written?.kind === 'took') throw approvalOutdated(id, described(each => each.id === effect))
    if (written !== undefined) return { session, decided: { ...written, at: session.updatedAt } }
    const past = await this.pastApproval(session, effect)
    if (past === undefined) throw approvalNotFound(approvalId(id, effect))
    const { decided } = past
    if (decided === undefined) throw sessionEnded(id, session.status)
    if (isSameAnswer(answer, past.effect, decided)) return { session, decided }
    throw approvalDecided(approvalId(id, effect), { ...decided, at: new Date(decided.at).toISOString() }, described(mayShow))
  }

  /**
   * The only way to a further log entry. When another writer is first, calls `decide` again with the session's new state, as often as needed. The
   * first call gets the session from the cache. An outdated session does no harm: the store refuses the append. When `decide` returns no fact, or
   * throws, for the cached session, `decide` is called again with the session as it is in the store.
   * @param isTaken whether the store gave the session to this replica because it was due
   * @throws SESSION_NOT_FOUND, and SESSION_ENDED when a part of the log is lost; EngineDiverged, SessionStoreError; what `decide` throws
   */
  async submit (id: string, decide: Decide, isTaken = false): Promise<Session> {
    return await this.#lock.run(id, async () => {
      for (let known = isTaken ? undefined : this.#log.peek(id); ; known = undefined) {
        const before = known !== undefined && wouldAdd(known, decide) ? known : await this.#log.load(id)
        if (before === undefined) throw sessionNotFound(id)
        // The previous driver can still append after this replica took the session: its effects must not count as lost.
        if (isTaken && (await this.#store.head(id))?.driver !== this.#id) return before
        const fact = decide(before)
        if (fact === undefined) return before
        const written = await this.#append(before, fact, isTaken)
        if (written !== undefined) return this.#follow(written)
      }
    })
  }

  /** `undefined` when another writer was first. @throws SESSION_ENDED when a part of the log is lost; SessionStoreError */
  async #append (before: Session, fact: Fact, isTaken: boolean): Promise<Advanced | undefined> {
    const driver = driverOf(before)
    const isElsewhere = driver === undefined && await this.#isElsewhere(before)
    const drives = isTaken || (driver === undefined && !isElsewhere) || driver === this.#id || fact.kind === 'stopped'
    // All running effects of a session belong to one replica: none begin while the log names others' as running.
    const begins = drives && !this.#isClosed && !(isTaken && fact.kind === 'unknown')
    const advanced = advance(before, fact, begins ? this.#gate : owingGate, this.#stamp())
    // Where another process holds the session's terminal or disk, that one has to drive it.
    const due = drives || isElsewhere ? this.#dueOf(advanced.session) : 'keep'
    try {
      return await this.#log.append(advanced, before, drives ? this.#driverOf(advanced.session) : undefined, due) ? advanced : undefined
    } catch (error) {
      if (!(error instanceof LogLost)) throw error
      const { message, top } = error
      this.#options.log.error({ session: before.id, reason: message }, 'the store has lost a part of a session')
      this.#running.abort(before.id)
      await this.#log.stopBroken(before.id, { code: 'LOG_LOST', message, top })
      throw sessionEnded(before.id, `LOG_LOST: ${message}`)
    }
  }

  /** After an entry is written: aborts what is no longer this replica's, and performs what has begun. */
  #follow ({ session, transition }: Advanced): Session {
    const { onWritten, onEnded } = this.#options
    const { id, start: { terminal, disk }, status } = session
    const written = onWritten?.(session, transition)
    if (written !== undefined) this.#track(written)
    if (terminal !== undefined || disk !== undefined) {
      // When another process adds a fact to a session of this terminal or disk, this process performs what follows.
      if (this.#isHere(session)) this.#watches.keep(id)
      else if (ENDED.has(status)) this.#watches.release(id)
    }
    if (terminal === undefined && disk !== undefined && !ENDED.has(status)) this.#call(disk.id, session)
    this.#abortStale(session)
    if (transition.notices.some(({ type }) => type === 'done')) onEnded?.(session)
    for (const { id: begun } of transition.begun) {
      const effect = session.open.get(begun)?.effect
      if (effect !== undefined && effect.kind !== 'wait') this.#track(this.#perform(session, effect))
    }
    return session
  }

  /** Resolves when the outcome is written to the log. */
  async #perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { id } = session
    await this.#running.run(session, effect.id, async signal => {
      this.#watches.open(id)
      const perform = () => this.#outcomeOf(session, effect, signal)
      // One that waits for a child session or for its user needs no turn, else a parent would keep its child's.
      const needsTurn = effect.kind !== 'child' && effect.kind !== 'shell'
      const outcome = needsTurn ? await this.#turns.run(session, signal, perform) : await perform()
      if (outcome === undefined) return await this.#putBack(id, effect)
      // An aborted effect can succeed: its result counts. A failure only says that it was aborted.
      if (!signal.aborted || outcome.kind === 'result') return await this.#finish(id, effect, outcome, ({ open }) => open.get(effect.id)?.by === this.#id)
      if (outcome.kind !== 'unknown') return
      const about = { session: id, effect: effect.id, kind: effect.kind, target: effect.kind === 'exec' ? effect.target : undefined }
      this.#options.log.warn(about, 'something was ended, and nobody has confirmed that: it may run on')
      // Only for an ended session: else the next replica that takes it records that the effect's end is unknown.
      await this.#finish(id, effect, { kind: 'unknown' }, ({ status }) => ENDED.has(status))
    })
    if (!this.#running.hasAny(id)) this.#watches.close(id)
  }

  /** What had no turn was not done: when this process closes, the next one begins it, also where it could not be repeated. */
  async #putBack (id: string, { id: effect }: ActiveEffect): Promise<void> {
    if (!this.#isClosed) return
    try {
      await this.submit(id, ({ status, open }) => ENDED.has(status) || open.get(effect)?.by !== this.#id ? undefined : { kind: 'took', repeats: [effect] })
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  async #outcomeOf (session: Session, effect: ActiveEffect, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#options.performer.perform(session, effect, signal, live => { this.#store.publish(session.id, live) })
    } catch (error) {
      return { kind: 'failure', code: 'INTERNAL', message: (error as Error).message }
    }
  }

  /** Writes as soon as the store can be reached. */
  async #finish (id: string, effect: ActiveEffect, { kind, ...rest }: Outcome, isWanted: (session: Session) => boolean): Promise<void> {
    const decide: Decide = session => isWanted(session) ? { kind, effect: effect.id, ...rest } as Fact : undefined
    try {
      await retryUntilClosed(this.#closing.signal, () => this.submit(id, decide))
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Aborts effects that according to the log have ended, or that another replica performs. */
  #abortStale ({ id, open }: Session): void {
    this.#running.abort(id, effect => open.get(effect)?.by !== this.#id)
  }

  async #renew (): Promise<void> {
    const ids = this.#running.sessions
    if (ids.length === 0) return
    try {
      for (const { id, seq, isYours } of await this.#store.renew(this.#id, ids, this.#lease)) {
        if (!isYours || this.#isNews(id, seq)) await this.#recover(id)
      }
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      this.#options.log.warn({ reason: error.message }, 'the sessions of this process could not be renewed')
    }
  }

  async #take (): Promise<void> {
    const { log, engines } = this.#options
    let next: number | undefined
    try {
      const { room, full, busy } = this.#turns
      // Others may have room. But an owner with nothing here gets its turn before those who wait.
      const most = room > 0 ? Math.min(TAKEN, room) : performance.now() - this.#asked < POLL ? 0 : 1
      const take = async (limit: number, passed: ReadonlySet<string>): Promise<Taken> => {
        if (limit === 0) return { ids: [], next: FULL }
        this.#asked = performance.now()
        const taken = await this.#store.take(this.#id, limit, this.#lease, new Set(engines.keys()), passed)
        this.#waits.forEngines(taken.unknown ?? [])
        return taken
      }
      const first = await take(most, busy)
      const rest = await take(room > 0 ? most - first.ids.length : 0, full)
      const ids = [...first.ids, ...rest.ids]
      next = ids.length === most && room > 0 ? 0 : full.size > 0 || room === 0 ? FULL : rest.next
      this.#takeProblem = undefined
      await Promise.all(ids.map(id => this.#recover(id, true)))
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#takeProblem) log.warn({ reason: message }, 'no sessions could be taken that are due')
      this.#takeProblem = message
    }
    if (this.#isClosed) return
    // A replica that lacks a disk takes later than others, so that these do not lose its sessions to it again.
    const isBehind = this.#waits.disks().size > 0
    this.#poll = setTimeout(() => { this.#track(this.#take()) }, Math.min(next ?? POLL, POLL) + (isBehind ? this.#lease / 8 : 0))
    this.#poll.unref()
  }

  /**
   * Goes on with a session whose replica has stopped, or to which another process has added a fact.
   * @param isTaken the session was due, so the replica that had begun effects of it has stopped
   */
  async #recover (id: string, isTaken = false): Promise<void> {
    try {
      if (isTaken) {
        const session = await this.load(id)
        if (session !== undefined && await this.#isElsewhere(session)) return await this.#leaveToOthers(session)
      }
      this.#waits.delete(id)
      for (let [isOver, isFirst] = [false, true]; !isOver && !this.#isClosed; isFirst = false) {
        let fact: Fact | undefined
        const session = await this.submit(id, before => (fact = this.#factToGoOn(before, isTaken)), isTaken)
        this.#abortStale(session)
        isOver = !isTaken || fact === undefined
        if (isTaken && isFirst && fact !== undefined && fact.kind !== 'stopped') this.#options.onTakeover?.(session)
      }
      if (isTaken) await this.#lock.run(id, () => this.#giveBack(id))
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Repeats what no replica performs any more; where that could do harm, `unknown` ends the effect instead. */
  #factToGoOn (session: Session, isTaken: boolean): Fact | undefined {
    // A closing process leaves its aborted effects to the next replica.
    if (this.#isClosed || ENDED.has(session.status)) return undefined
    const { id } = session
    const left = openIn(session, 'begun').filter(({ effect, by }) => effect.kind !== 'wait' && !(by === this.#id && this.#running.has(id, effect.id)))
    // Begun by this replica, but not performed: it gave up waiting for the store, which wrote the entry all the same.
    const undone = left.filter(({ by }) => by === this.#id)
    const lost = isTaken ? left.filter(({ by }) => by !== this.#id) : []
    const mayRepeat = ({ effect }: OpenEffect): boolean => effect.kind === 'wait' || this.#options.performer.isRepeatable(effect)
    const unknown = [...lost, ...undone.filter(({ effect }) => this.#running.wasPerformed(id, effect.id))].find(each => !mayRepeat(each))
    if (unknown !== undefined) return { kind: 'unknown', effect: unknown.effect.id }
    const repeats = [...undone, ...lost].map(({ effect }) => effect.id)
    const driver = driverOf(session)
    const isMine = isTaken || driver === this.#id || (this.#isHere(session) && driver === undefined)
    if (repeats.length > 0 || (isMine && owedNow(session).length > 0)) return { kind: 'took', repeats }
    const isOver = isWaiting(session) && Date.now() - session.updatedAt >= session.start.budget.idle
    return isTaken && isOver ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
  }

  /** Renews the lease, at whose end any replica can take the session. A session whose disk stays away for too long is stopped. */
  async #leaveToOthers ({ id, start: { disk, budget }, updatedAt }: Session): Promise<void> {
    if (disk !== undefined) {
      if (Date.now() - updatedAt >= budget.idle) {
        const reason = `no process that has the disk "${disk.name}" has gone on with it in time`
        await this.submit(id, ({ status }) => ENDED.has(status) ? undefined : { kind: 'stopped', by: 'expiry', reason }, true)
        return
      }
      this.#waits.forDisk(id, disk)
    }
    await this.#store.renew(this.#id, [id], this.#lease)
  }

  /** Lets the store give the session to a replica when the longest wait for a person is over. */
  async #giveBack (id: string): Promise<void> {
    const session = this.#log.peek(id) ?? await this.load(id)
    if (session === undefined || !isWaiting(session)) return
    await this.#store.renew(this.#id, [id], Math.max(session.updatedAt + session.start.budget.idle - Date.now(), 1))
  }

  /** Ends the session when no other replica could continue it either. */
  async #failed (id: string, error: unknown): Promise<void> {
    const { message } = error as Error
    // Another replica, which has this engine, takes the session.
    if (error instanceof EngineUnknown) return
    this.#options.log.warn({ session: id, reason: message }, 'a session could not be gone on with')
    // An error of the store passes. Any other would happen again in every replica that takes the session.
    if (error instanceof SessionStoreError || error instanceof ServiceError || this.#isClosed) return
    await this.#log.stopBroken(id, { code: error instanceof EngineDiverged ? 'ENGINE_DIVERGED' : 'ENGINE_FAILED', message }).catch(() => {})
    this.#running.abort(id)
  }

  /** Tells the holder of a terminal or disk, if that is another process. */
  #call (holder: string, session: Session): void {
    if (!this.#isHere(session)) this.#store.publish(holder, { type: IN_TERMINAL, session: session.id })
  }

  #onCall ({ type, session: id }: JsonObject): void {
    if (type !== IN_TERMINAL || typeof id !== 'string') return
    this.#track(this.load(id).then(async session => {
      if (session === undefined || !this.#isHere(session)) return
      this.#watches.keep(id)
      await this.#recover(id)
    }))
  }

  #isHere ({ start: { terminal, disk }, status }: Pick<Session, 'start' | 'status'>): boolean {
    const { terminals, disks } = this.#options
    return !ENDED.has(status) && (terminal === undefined ? disk !== undefined && disks?.has(disk.id) === true : terminals?.has(terminal) === true)
  }

  /** Another process holds its terminal or disk. @throws SessionStoreError */
  async #isElsewhere (session: Pick<Session, 'start' | 'status'>): Promise<boolean> {
    const { start: { terminal, disk }, status } = session
    if ((terminal ?? disk) === undefined || ENDED.has(status) || this.#isHere(session)) return false
    if (terminal === undefined) return true
    const head = await this.#store.head(terminal)
    return head !== undefined && !ENDED.has(head.status)
  }

  #isNews (id: string, seq: number): boolean {
    return seq > (this.#log.peek(id)?.seq ?? 0)
  }

  get #isClosed (): boolean {
    return this.#closing.signal.aborted
  }

  #stamp (): Stamp {
    return { at: Date.now(), token: randomUUID(), by: this.#id }
  }

  /** `undefined` when the session only waits for a person or has ended, or when this process closes. */
  #driverOf (session: Session): string | undefined {
    return isWaiting(session) || this.#isClosed ? undefined : this.#id
  }

  #dueOf (session: Session): Append['due'] {
    if (ENDED.has(session.status)) return 'never'
    if (isWaiting(session)) return session.start.budget.idle
    return this.#isClosed ? 0 : this.#lease
  }

  #track (work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#options.log.error({ reason: (error as Error).message }, 'sessions: unexpected')
    }).finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}

function wouldAdd (session: Session, decide: Decide): boolean {
  try {
    return decide(session) !== undefined
  } catch {
    return false
  }
}

/** @throws SESSION_BUSY while the session writes files or commits */
function stopFact (session: Session, by: StopCause, reason: string): Fact | undefined {
  if (ENDED.has(session.status)) return undefined
  const isWriting = openIn(session, 'begun').some(({ effect }) => rowOf(effect).isWhole === true)
  if (isWriting) throw sessionBusy(session.id, session.status, 'it is writing files; try again when it has')
  return { kind: 'stopped', by, reason }
}
