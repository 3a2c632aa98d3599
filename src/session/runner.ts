import { randomUUID } from 'node:crypto'
import { sessionBusy, sessionEnded, sessionFull, sessionNotFound } from '../base/errors.ts'
import { type Log } from '../base/log.ts'
import { advance, type Advanced, begin, type Stamp } from './advance.ts'
import { EngineDiverged, type Engines, EngineUnknown } from './fold.ts'
import { gate, owingGate } from './gate.ts'
import { type Decision, ENDED, type Fact, type Start, type StopCause } from './model.ts'
import { type ActiveEffect, type Outcome, type Performer } from './performer.ts'
import { acceptsInput, driverOf, openIn, type Session } from './session.ts'
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
  /** In ms. @default 15 s */
  readonly lease?: number
}

/** Something that a session's user sends. */
export interface SessionInput {
  /** Of the request, so that one that is sent again counts once. */
  readonly id: string
  readonly by: string
  readonly text: string
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
  #isClosed = false

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

  /** Ends what runs here without an end in the log: the next replica begins it again. */
  async close (): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#poll)
    clearInterval(this.#renewal)
    for (const running of this.#running.values()) for (const controller of running.values()) controller.abort()
    await Promise.all(this.#work)
    for (const watch of this.#watches.values()) (await watch)()
  }

  /** Begins a session, or gives the one that was begun under this id. @throws SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    return await this.#turns.run(id, async () => {
      const known = await this.#log.load(id)
      if (known !== undefined) return known
      const engine = this.#options.engines.get(start.engine)
      if (engine === undefined) throw new EngineUnknown(`no engine ${start.engine} is here`)
      const advanced = begin(id, start, engine, gate, this.#stamp())
      if (await this.#log.append(advanced, undefined, this.#replica, this.#dueOf(advanced.session))) {
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

  /** Gives a session what its user says. @throws SESSION_NOT_FOUND, SESSION_ENDED, SESSION_BUSY, SESSION_FULL */
  async input (id: string, { id: input, by, text }: SessionInput): Promise<Session> {
    return await this.#commit(id, session => {
      if (session.lastInput === input) return undefined
      refuseEnded(session)
      if (!acceptsInput(session)) throw sessionBusy(id, session.status)
      if (session.seq >= MAX_TRANSITIONS) throw sessionFull(id, MAX_TRANSITIONS)
      return { kind: 'input', id: input, by, text }
    })
  }

  /** Decides about an effect that is held; one that was decided already stays so. @throws SESSION_NOT_FOUND */
  async decide (id: string, effect: string, by: string, decision: Decision, reason?: string): Promise<Session> {
    return await this.#commit(id, ({ open }) => open.get(effect)?.phase === 'held' ? { kind: 'decided', effect, by, decision, ...(reason === undefined ? {} : { reason }) } : undefined)
  }

  /** Ends a session, whatever it does. @throws SESSION_NOT_FOUND */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    return await this.#commit(id, session => ENDED.has(session.status) ? undefined : { kind: 'stopped', by, reason })
  }

  /**
   * Adds a fact to a session, computed anew as often as another writer is first. What is in memory may be outdated: the
   * store refuses what is computed from it then, and nothing is left undone or refused for its sake.
   * @param decide gives the fact, or `undefined` to leave the session as it is
   */
  async #commit (id: string, decide: (session: Session) => Fact | undefined): Promise<Session> {
    return await this.#turns.run(id, async () => {
      for (let known = this.#log.peek(id); ; known = undefined) {
        const before = known !== undefined && wouldAdd(known, decide) ? known : await this.#log.load(id)
        if (before === undefined) throw sessionNotFound(id)
        const fact = decide(before)
        if (fact === undefined) return before
        const driver = driverOf(before)
        const drives = driver === undefined || driver === this.#replica || fact.kind === 'took' || fact.kind === 'stopped'
        const advanced = advance(before, fact, drives ? gate : owingGate, this.#stamp())
        if (!await this.#append(advanced, before, drives)) continue
        if (drives) this.#performAll(advanced)
        return advanced.session
      }
    })
  }

  async #append (advanced: Advanced, before: Session, drives: boolean): Promise<boolean> {
    try {
      return await this.#log.append(advanced, before, drives ? this.#replica : undefined, drives ? this.#dueOf(advanced.session) : 'keep')
    } catch (error) {
      if (!(error instanceof LogLost)) throw error
      this.#options.log.error({ session: before.id, reason: error.message }, 'the store has lost a part of a session')
      this.#abort(before.id)
      throw sessionEnded(before.id, `LOG_LOST: ${error.message}`)
    }
  }

  #stamp (): Stamp {
    return { at: Date.now(), token: randomUUID(), by: this.#replica }
  }

  #dueOf (session: Session): Append['due'] {
    if (ENDED.has(session.status)) return 'never'
    return driverOf(session) === undefined ? session.start.budget.idle : this.#lease
  }

  #performAll ({ session, transition: { begun } }: Advanced): void {
    if (ENDED.has(session.status)) {
      this.#abort(session.id)
      this.#options.onEnded?.(session)
    }
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
    const { store, performer } = this.#options
    const outcome = await performer.perform(session, effect, controller.signal, live => { store.publish(id, live) })
    running.delete(effect.id)
    if (running.size === 0) this.#running.delete(id)
    if (!controller.signal.aborted) await this.#end(id, effect, outcome)
    this.#unwatch(id)
  }

  /** Writes how an effect ended, unless it has ended otherwise, or another replica has begun it again. */
  async #end (id: string, effect: ActiveEffect, { kind, ...outcome }: Outcome): Promise<void> {
    try {
      await this.#commit(id, ({ open }) => open.get(effect.id)?.by === this.#replica ? { kind, effect: effect.id, ...outcome } as Fact : undefined)
    } catch (error) {
      // The effect stays begun in the log: whoever takes the session when it is due begins it again.
      this.#options.log.warn({ session: id, reason: (error as Error).message }, 'the end of an effect could not be written')
    }
  }

  /** Ends what runs here for a session, without a word in its log. */
  #abort (id: string): void {
    for (const controller of this.#running.get(id)?.values() ?? []) controller.abort()
  }

  /** Hears of what others add to a session while something runs for it here: an end of it, or an approval. */
  #watch (id: string): void {
    if (this.#watches.has(id)) return
    const look = (): void => { this.#track(this.#look(id)) }
    const listener = { onAppend: (seq: number) => { if (seq > (this.#log.peek(id)?.seq ?? 0)) look() }, onLive () {}, onGap: look }
    this.#watches.set(id, this.#options.store.watch(id, listener).catch(() => () => {}))
  }

  #unwatch (id: string): void {
    if (this.#running.has(id)) return
    const watch = this.#watches.get(id)
    this.#watches.delete(id)
    void watch?.then(stop => { stop() })
  }

  async #look (id: string): Promise<void> {
    await this.#recover(id, false)
  }

  async #renew (): Promise<void> {
    const ids = [...this.#running.keys()]
    if (ids.length === 0) return
    try {
      for (const { id, seq, isYours } of await this.#options.store.renew(this.#replica, ids, this.#lease)) {
        if (!isYours || seq > (this.#log.peek(id)?.seq ?? 0)) await this.#look(id)
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
      if (!(error instanceof SessionStoreError)) throw error
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
      const session = await this.#commit(id, session => this.#nextFact(session, isTaken))
      if (ENDED.has(session.status)) this.#abort(id)
      const rest = session.updatedAt + session.start.budget.idle - Date.now()
      if (isTaken && !ENDED.has(session.status) && driverOf(session) === undefined) await this.#options.store.renew(this.#replica, [id], Math.max(rest, 1))
      if (isTaken && this.#lost(session).length > 0) await this.#recover(id, isTaken)
    } catch (error) {
      if (error instanceof EngineDiverged) return await this.#log.stopUnreadable(id, error, this.#replica)
      // A replica that has the engine takes it when it is due again.
      if (error instanceof EngineUnknown) return
      this.#options.log.warn({ session: id, reason: (error as Error).message }, 'a session could not be gone on with')
    }
  }

  #nextFact (session: Session, isTaken: boolean): Fact | undefined {
    if (ENDED.has(session.status)) return undefined
    const lost = isTaken ? this.#lost(session) : []
    const unknown = lost.find(effect => !this.#options.performer.isRepeatable(effect))
    if (unknown !== undefined) return { kind: 'unknown', effect: unknown.id }
    const isMine = isTaken || driverOf(session) === this.#replica
    if (lost.length > 0 || (isMine && openIn(session, 'owed').length > 0)) return { kind: 'took', repeats: lost.map(({ id }) => id) }
    const isWaiting = driverOf(session) === undefined && Date.now() - session.updatedAt >= session.start.budget.idle
    return isTaken && isWaiting ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
  }

  /** What was begun by a replica that is gone, or by this one without running any more. */
  #lost (session: Session): ActiveEffect[] {
    const running = this.#running.get(session.id)
    return openIn(session, 'begun').flatMap(({ effect }) => effect.kind === 'wait' || running?.has(effect.id) === true ? [] : [effect])
  }

  /** Keeps work that nobody waits for, so that closing can. */
  #track (work: Promise<void>): void {
    this.#work.add(work)
    void work.catch((error: unknown) => { this.#options.log.error({ reason: (error as Error).message }, 'sessions: unexpected') }).finally(() => this.#work.delete(work))
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
