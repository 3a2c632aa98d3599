import { randomUUID } from 'node:crypto'
import pRetry from 'p-retry'
import { approvalOutdated, requestInvalid, ServiceError, sessionBusy, sessionEnded, sessionFull, sessionNotFound } from '../base/errors.ts'
import { type Log } from '../base/log.ts'
import { advance, type Advanced, begin, type Stamp } from './advance.ts'
import { digestOf } from './digest.ts'
import { EngineDiverged, type Engines, EngineUnknown } from './fold.ts'
import { gate, owingGate } from './gate.ts'
import { type Action, type Decision, ENDED, type Fact, type Start, type StopCause } from './model.ts'
import { type ActiveEffect, type Outcome, type Performer } from './performer.ts'
import { acceptsInput, driverOf, isWaiting, type OpenEffect, openIn, type Session } from './session.ts'
import { LogLost, SessionLog } from './session-log.ts'
import { type Append, type SessionStore, SessionStoreError } from './store/session-store.ts'
import { Turns } from './turns.ts'

/** How long a replica that drives a session may be silent before another one takes it, in ms. */
const LEASE = 15_000

/** How often the store is asked for sessions that are due when it names no earlier time, in ms. */
const POLL = 5000

/** How many sessions are taken at a time. */
const TAKEN = 50

/** Transitions of one session; a fork goes on with its end. */
const MAX_TRANSITIONS = 10_000

/** What running sessions needs. */
export interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** Called with each session that this process has ended. */
  readonly onEnded?: (session: Session) => void
  /** Called with each session that waits now or has ended, by what this process wrote; closing waits for it. */
  readonly onSettled?: (session: Session) => Promise<void>
  /** In ms. @default 15 s */
  readonly lease?: number
}

/** Something that a session's user sends. */
export interface SessionInput {
  /** Of the request, so that one that is sent again counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
  readonly action?: Action | undefined
}

/** A person's answer to an approval. */
export interface PersonsAnswer {
  readonly by: string
  readonly decision: Decision
  readonly reason?: string | undefined
  /** In place of the command that was shown. */
  readonly command?: string | undefined
  /** Of what was shown to the person. */
  readonly digest?: string | undefined
}

/**
 * Runs sessions: writes a transition, then does what it begins, and writes how that ended as the next one. Every replica
 * may add a fact to any session; only the one that drives a session begins effects. When it is gone, another takes what is
 * due.
 */
export class SessionRunner {
  readonly #options: RunnerOptions
  readonly #log: SessionLog
  readonly #lease: number
  /** Made up for this process: nobody else can be taken for it. */
  readonly #replica = randomUUID()
  readonly #turns = new Turns()
  /** What runs now, by session and effect. */
  readonly #running = new Map<string, Map<string, AbortController>>()
  readonly #watches = new Map<string, Promise<() => void>>()
  readonly #work = new Set<Promise<void>>()
  #poll: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined
  readonly #closing = new AbortController()

  constructor (options: RunnerOptions) {
    this.#options = options
    this.#lease = options.lease ?? LEASE
    this.#log = new SessionLog(options.store, options.engines)
  }

  /** Begins to take sessions that are due: those of replicas that are gone, and those that have waited too long. */
  open (): void {
    this.#renewal = setInterval(() => { this.#track(this.#renew()) }, this.#lease / 3)
    this.#renewal.unref()
    this.#track(this.#takeDue())
  }

  /**
   * Ends what runs here. What it comes to is still written, if it succeeds; all else is left to the next replica, which need
   * not wait for the end of a lease.
   */
  async close (): Promise<void> {
    const left = [...this.#running.keys()]
    this.#closing.abort()
    clearTimeout(this.#poll)
    clearInterval(this.#renewal)
    for (const running of this.#running.values()) for (const controller of running.values()) controller.abort()
    while (this.#work.size > 0) await Promise.all(this.#work)
    for (const watch of this.#watches.values()) (await watch)()
    await this.#options.store.renew(this.#replica, left, 0).catch(() => {})
  }

  /** Begins a session, or gives the one that was begun under this id. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    return await this.#turns.run(id, async () => {
      const known = await this.#log.load(id)
      if (known !== undefined) return known
      const engine = this.#options.engines.get(start.engine)
      if (engine === undefined) throw new EngineUnknown(`no engine ${start.engine} is here`)
      const advanced = begin(id, start, engine, this.#isClosed ? owingGate : gate, this.#stamp())
      if (await this.#log.append(advanced, undefined, this.#driverOf(advanced.session), this.#dueOf(advanced.session))) {
        this.#performAll(advanced)
        return advanced.session
      }
      return await this.#log.load(id) ?? advanced.session
    })
  }

  /** @throws EngineDiverged, SessionStoreError */
  async load (id: string): Promise<Session | undefined> {
    return await this.#log.load(id)
  }

  /** Gives a session what its user sends. @throws SESSION_NOT_FOUND, SESSION_ENDED, SESSION_BUSY, SESSION_FULL, REQUEST_INVALID */
  async input (id: string, { id: input, by, text, action }: SessionInput): Promise<Session> {
    return await this.#commit(id, session => {
      if (session.lastInput === input) return undefined
      refuseEnded(session)
      const refused = session.engine.refuses(text, action)
      if (refused !== undefined) throw refused.kind === 'busy' ? sessionBusy(id, session.status, refused.message) : requestInvalid(refused.message, { part: 'body' })
      if (!acceptsInput(session)) throw sessionBusy(id, session.status)
      if (session.seq >= MAX_TRANSITIONS) throw sessionFull(id, MAX_TRANSITIONS)
      return { kind: 'input', id: input, by, text, ...(action === undefined ? {} : { action }) }
    })
  }

  /**
   * Decides about an effect that is held; one that was decided already stays so.
   * @throws SESSION_NOT_FOUND; APPROVAL_OUTDATED when something else is held than what the person was shown
   */
  async decide (id: string, effect: string, { by, decision, reason, command, digest }: PersonsAnswer): Promise<Session> {
    return await this.#commit(id, ({ open }) => {
      const held = open.get(effect)
      if (held?.phase !== 'held') return undefined
      if (digest !== undefined && digest !== digestOf(held.effect)) throw approvalOutdated(id)
      return { kind: 'decided', effect, by, decision, ...(reason === undefined ? {} : { reason }), ...(command === undefined ? {} : { command }) }
    })
  }

  /** Ends a session, whatever it does, but for the moment in which files are written. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    return await this.#commit(id, session => {
      if (ENDED.has(session.status)) return undefined
      if (openIn(session, 'begun').some(({ effect }) => effect.kind === 'apply')) throw sessionBusy(id, session.status, 'it is writing files; try again when it has')
      return { kind: 'stopped', by, reason }
    })
  }

  /**
   * Adds a fact to a session, computed anew as often as another writer is first. What is in memory may be outdated: the
   * store refuses what is computed from it then, and nothing is left undone or refused for its sake.
   * @param decide gives the fact, or `undefined` to leave the session as it is
   * @param isTaken whether the store has given the session to this replica
   */
  async #commit (id: string, decide: (session: Session) => Fact | undefined, isTaken = false): Promise<Session> {
    return await this.#turns.run(id, async () => {
      for (let known = isTaken ? undefined : this.#log.peek(id); ; known = undefined) {
        const before = known !== undefined && wouldAdd(known, decide) ? known : await this.#log.load(id)
        if (before === undefined) throw sessionNotFound(id)
        // Whoever drove it may have gone on since it was taken: what that one has begun is not lost then.
        if (isTaken && await this.#log.driverOf(id) !== this.#replica) return before
        const fact = decide(before)
        if (fact === undefined) return before
        const driver = driverOf(before)
        const drives = isTaken || driver === undefined || driver === this.#replica || fact.kind === 'stopped'
        // All that is begun belongs to one replica: what another one has begun ends first.
        const begins = drives && !this.#isClosed && !(isTaken && fact.kind === 'unknown')
        const advanced = advance(before, fact, begins ? gate : owingGate, this.#stamp())
        if (!await this.#append(advanced, before, drives)) continue
        this.#performAll(advanced)
        return advanced.session
      }
    })
  }

  async #append (advanced: Advanced, before: Session, drives: boolean): Promise<boolean> {
    const { session } = advanced
    try {
      return await (drives ? this.#log.append(advanced, before, this.#driverOf(session), this.#dueOf(session)) : this.#log.append(advanced, before, undefined, 'keep'))
    } catch (error) {
      if (!(error instanceof LogLost)) throw error
      const { message, top } = error
      this.#options.log.error({ session: before.id, reason: message }, 'the store has lost a part of a session')
      this.#abort(before.id)
      await this.#log.stopBroken(before.id, { code: 'LOG_LOST', message, by: this.#replica, top })
      throw sessionEnded(before.id, `LOG_LOST: ${message}`)
    }
  }

  get #isClosed (): boolean {
    return this.#closing.signal.aborted
  }

  #stamp (): Stamp {
    return { at: Date.now(), token: randomUUID(), by: this.#replica }
  }

  /** Who has to act for a session when this replica has written its last transition. */
  #driverOf (session: Session): string | undefined {
    return isWaiting(session) || this.#isClosed ? undefined : this.#replica
  }

  #dueOf (session: Session): Append['due'] {
    if (ENDED.has(session.status)) return 'never'
    if (isWaiting(session)) return session.start.budget.idle
    return this.#isClosed ? 0 : this.#lease
  }

  #performAll ({ session, transition: { begun } }: Advanced): void {
    this.#abortStale(session)
    if (ENDED.has(session.status)) this.#options.onEnded?.(session)
    if (this.#options.onSettled !== undefined && (ENDED.has(session.status) || isWaiting(session))) this.#track(this.#options.onSettled(session))
    for (const { id } of begun) {
      const effect = session.open.get(id)?.effect
      if (effect !== undefined && effect.kind !== 'wait') this.#track(this.#perform(session, effect))
    }
  }

  async #perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { id } = session
    const controller = new AbortController()
    const running = this.#running.get(id) ?? new Map<string, AbortController>()
    this.#running.set(id, running.set(effect.id, controller))
    this.#watch(id)
    const outcome = await this.#outcomeOf(session, effect, controller.signal)
    // One that was aborted may have succeeded none the less; its failure says nothing.
    if (!controller.signal.aborted || outcome.kind === 'result') await this.#end(id, effect, outcome)
    if (running.get(effect.id) === controller) running.delete(effect.id)
    if (running.size === 0 && this.#running.get(id) === running) this.#running.delete(id)
    this.#unwatch(id)
  }

  async #outcomeOf (session: Session, effect: ActiveEffect, signal: AbortSignal): Promise<Outcome> {
    const { store, performer } = this.#options
    try {
      return await performer.perform(session, effect, signal, live => { store.publish(session.id, live) })
    } catch (error) {
      return { kind: 'failure', code: 'INTERNAL', message: (error as Error).message }
    }
  }

  /**
   * Writes how an effect ended, as soon as the store can be reached, unless it has ended otherwise, or another replica has
   * begun it again.
   */
  async #end (id: string, effect: ActiveEffect, { kind, ...outcome }: Outcome): Promise<void> {
    const decide = ({ open }: Session): Fact | undefined => open.get(effect.id)?.by === this.#replica ? { kind, effect: effect.id, ...outcome } as Fact : undefined
    try {
      await pRetry(() => this.#commit(id, decide), { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry: ({ error }) => error instanceof SessionStoreError && !this.#isClosed })
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Ends what runs here that nobody wants any more: it has ended otherwise, or another replica does it. */
  #abortStale ({ id, open }: Session): void {
    for (const [effect, controller] of this.#running.get(id) ?? []) if (open.get(effect)?.by !== this.#replica) controller.abort()
  }

  /** Ends what runs here for a session, without a word in its log. */
  #abort (id: string): void {
    for (const controller of this.#running.get(id)?.values() ?? []) controller.abort()
  }

  /** Hears of what others add to a session while something runs for it here: an end of it, or an approval. */
  #watch (id: string): void {
    if (this.#watches.has(id)) return
    const look = (): void => { this.#track(this.#recover(id, false)) }
    const listener = { onAppend: (seq: number) => { if (seq > (this.#log.peek(id)?.seq ?? 0)) look() }, onLive () {}, onGap: look }
    const watch = this.#options.store.watch(id, listener).catch(() => () => {})
    this.#watches.set(id, watch)
    // What was added before the store listened is heard of by nobody.
    void watch.then(look)
  }

  #unwatch (id: string): void {
    if (this.#running.has(id)) return
    const watch = this.#watches.get(id)
    this.#watches.delete(id)
    void watch?.then(stop => { stop() })
  }

  async #renew (): Promise<void> {
    const ids = [...this.#running.keys()]
    if (ids.length === 0) return
    try {
      for (const { id, seq, isYours } of await this.#options.store.renew(this.#replica, ids, this.#lease)) {
        if (!isYours || seq > (this.#log.peek(id)?.seq ?? 0)) await this.#recover(id, false)
      }
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      this.#options.log.warn({ reason: error.message }, 'the sessions of this process could not be renewed')
    }
  }

  async #takeDue (): Promise<void> {
    let next: number | undefined
    try {
      const taken = await this.#options.store.take(this.#replica, TAKEN, this.#lease)
      next = taken.ids.length === TAKEN ? 0 : taken.next
      await Promise.all(taken.ids.map(id => this.#recover(id, true)))
    } catch (error) {
      this.#options.log.warn({ reason: (error as Error).message }, 'no sessions could be taken that are due')
    }
    if (this.#isClosed) return
    this.#poll = setTimeout(() => { this.#track(this.#takeDue()) }, Math.min(next ?? POLL, POLL))
    this.#poll.unref()
  }

  /**
   * Goes on with a session: ends one that has waited too long, begins again what may be repeated of what a lost replica has
   * begun, and what nobody has begun yet.
   * @param isTaken whether its lease is over, so that whoever has begun something is gone
   */
  async #recover (id: string, isTaken: boolean): Promise<void> {
    try {
      for (let isOver = false; !isOver && !this.#isClosed;) {
        let fact = undefined as Fact | undefined
        this.#abortStale(await this.#commit(id, session => (fact = this.#nextFact(session, isTaken)), isTaken))
        isOver = !isTaken || fact === undefined
      }
      if (isTaken) await this.#turns.run(id, () => this.#giveBack(id))
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Makes a session that was taken while it waits due when it has waited too long. */
  async #giveBack (id: string): Promise<void> {
    const session = this.#log.peek(id)
    if (session === undefined || !isWaiting(session)) return
    const rest = session.updatedAt + session.start.budget.idle - Date.now()
    await this.#options.store.renew(this.#replica, [id], Math.max(rest, 1))
  }

  /** Tells of what could not be done for a session; ends one that nobody can go on with. */
  async #failed (id: string, error: unknown): Promise<void> {
    const { message } = error as Error
    // A replica that has the engine takes it when it is due again.
    if (error instanceof EngineUnknown) return
    this.#options.log.warn({ session: id, reason: message }, 'a session could not be gone on with')
    // The store comes back; all else would happen again to every replica that takes the session.
    if (error instanceof SessionStoreError || error instanceof ServiceError || this.#isClosed) return
    await this.#log.stopBroken(id, { code: error instanceof EngineDiverged ? 'ENGINE_DIVERGED' : 'ENGINE_FAILED', message, by: this.#replica }).catch(() => {})
    this.#abort(id)
  }

  #nextFact (session: Session, isTaken: boolean): Fact | undefined {
    if (ENDED.has(session.status)) return undefined
    const left = openIn(session, 'begun').filter(each => this.#isLeft(session.id, each))
    // Begun here in an append that was given up on, though it had arrived: nobody has done it yet.
    const undone = left.filter(({ by }) => by === this.#replica)
    const lost = isTaken ? left.filter(({ by }) => by !== this.#replica) : []
    const unknown = lost.find(({ effect }) => effect.kind !== 'wait' && !this.#options.performer.isRepeatable(effect))
    if (unknown !== undefined) return { kind: 'unknown', effect: unknown.effect.id }
    const repeats = [...undone, ...lost].map(({ effect }) => effect.id)
    const isMine = isTaken || driverOf(session) === this.#replica
    if (repeats.length > 0 || (isMine && openIn(session, 'owed').length > 0)) return { kind: 'took', repeats }
    const isOver = isWaiting(session) && Date.now() - session.updatedAt >= session.start.budget.idle
    return isTaken && isOver ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
  }

  /** Whether an effect was begun and does not run here. */
  #isLeft (id: string, { effect, by }: OpenEffect): boolean {
    return effect.kind !== 'wait' && !(by === this.#replica && this.#running.get(id)?.has(effect.id) === true)
  }

  /** Keeps work that nobody waits for, so that closing can. */
  #track (work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => { this.#options.log.error({ reason: (error as Error).message }, 'sessions: unexpected') }).finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }
}

function wouldAdd (session: Session, decide: (session: Session) => Fact | undefined): boolean {
  try {
    return decide(session) !== undefined
  } catch {
    return false
  }
}

function refuseEnded ({ id, status }: Session): void {
  if (ENDED.has(status)) throw sessionEnded(id, status)
}
