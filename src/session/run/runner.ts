import { randomUUID } from 'node:crypto'
import pRetry from 'p-retry'
import { approvalDecided, approvalNotFound, approvalOutdated, commitDisabled, requestInvalid, ServiceError, sessionBusy, sessionEnded, sessionFull, sessionNotFound } from '../../base/errors.ts'
import { type Log } from '../../base/log.ts'
import { advance, type Advanced, begin, type Stamp } from '../advance.ts'
import { type Approval, approvalId, approvalOf, approvalsIn, describeApproval } from '../approval.ts'
import { type AnswerFact, type Decided, decisionOn, isSameAnswer, type PastApproval, type PersonsAnswer } from '../decide.ts'
import { type Refused } from '../engine.ts'
import { EngineDiverged, type Engines, EngineUnknown } from '../fold.ts'
import { type Circumstances, createGate, type Gate, NO_CIRCUMSTANCES, owingGate } from '../gate.ts'
import { Leases } from './leases.ts'
import { type Action, ENDED, type Fact, type Start, type StopCause, type Transition } from '../model.ts'
import { type ActiveEffect, type Outcome, type Performer } from '../performer.ts'
import { RunningEffects } from './running-effects.ts'
import { type Seals, UNSEALED } from '../seal.ts'
import { acceptsInput, driverOf, isWaiting, MAX_LOG_BYTES, type OpenEffect, openIn, type Session } from '../session.ts'
import { LogLost, SessionLog } from '../session-log.ts'
import { type Append, type SessionStore, SessionStoreError } from '../session-store.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { Watches } from './watches.ts'

/** How long a replica that drives a session may be silent before another one takes it, in ms. */
const LEASE = 8000

/** Transitions of one session; a fork goes on with its end. */
const MAX_TRANSITIONS = 10_000

/** What running sessions needs. */
export interface RunnerOptions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly performer: Performer
  readonly log: Log
  /** @default what a session started with decides alone */
  readonly circumstances?: Circumstances
  /** @default nothing is sealed */
  readonly seals?: Seals
  /** Called with each transition that this process has written, once. */
  readonly onWritten?: (session: Session, transition: Transition) => void
  /** Called with each session that this process has ended. */
  readonly onEnded?: (session: Session) => void
  /** Called with each session that waits now or has ended, by what this process wrote; closing waits for it. */
  readonly onSettled?: (session: Session) => Promise<void>
  /** In ms. @default 8 s */
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

/**
 * Runs sessions: writes a transition, then does what it begins, and writes how that ended as the next one. Every replica
 * may add a fact to any session; only the one that drives a session begins effects. When it is gone, another takes what is
 * due.
 */
export class SessionRunner {
  readonly #options: RunnerOptions
  readonly #log: SessionLog
  readonly #circumstances: Circumstances
  readonly #gate: Gate
  readonly #lease: number
  /** Made up for this process: nobody else can be taken for it. */
  readonly #replica = randomUUID()
  readonly #mutex = new KeyedMutex()
  readonly #running = new RunningEffects()
  readonly #watches: Watches
  readonly #leases: Leases
  readonly #work = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor (options: RunnerOptions) {
    this.#options = options
    this.#lease = options.lease ?? LEASE
    this.#circumstances = options.circumstances ?? NO_CIRCUMSTANCES
    this.#gate = createGate(this.#circumstances)
    const { store, engines, seals = UNSEALED, log } = options
    this.#log = new SessionLog({ store, engines, seals, log, by: this.#replica })
    this.#watches = new Watches(options.store, (id, seq) => { if (this.#isNews(id, seq)) this.#track(this.#recover(id, false)) })
    this.#leases = new Leases({
      store: options.store,
      replica: this.#replica,
      lease: this.#lease,
      log: options.log,
      driven: () => this.#running.sessions,
      onRenewed: async ({ id, seq, isYours }) => { if (!isYours || this.#isNews(id, seq)) await this.#recover(id, false) },
      onTaken: async id => { await this.#recover(id, true) },
      track: work => { this.#track(work) }
    })
  }

  /** Begins to take sessions that are due: those of replicas that are gone, and those that have waited too long. */
  open (): void {
    this.#leases.open()
  }

  /**
   * Ends what runs here. What it comes to is still written, if it succeeds; all else is left to the next replica, which need
   * not wait for the end of a lease.
   */
  async close (): Promise<void> {
    const left = this.#running.sessions
    this.#closing.abort()
    this.#leases.close()
    this.#running.abortAll()
    while (this.#work.size > 0) await Promise.all(this.#work)
    await this.#watches.closeAll()
    await this.#options.store.renew(this.#replica, left, 0).catch(() => {})
  }

  /** Begins a session, or gives the one that was begun under this id. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    return await this.#mutex.run(id, async () => {
      const known = await this.#log.load(id)
      if (known !== undefined) return known
      const engine = this.#options.engines.get(start.engine)
      if (engine === undefined) throw new EngineUnknown(`no engine ${start.engine} is here`)
      const advanced = begin(id, start, engine, this.#isClosed ? owingGate : this.#gate, this.#stamp())
      if (await this.#log.append(advanced, undefined, this.#driverOf(advanced.session), this.#dueOf(advanced.session))) {
        this.#performAll(advanced)
        return advanced.session
      }
      return await this.#log.load(id) ?? advanced.session
    })
  }

  /** The name of whoever started a session, without reading the rest of its log; undefined when nobody has. @throws SessionStoreError */
  async ownerOf (id: string): Promise<string | undefined> {
    return await this.#log.ownerOf(id)
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
      if (refused !== undefined) throw refusalOf(refused, session)
      if (!acceptsInput(session)) throw sessionBusy(id, session.status)
      if (session.seq >= MAX_TRANSITIONS) throw sessionFull(id, `${MAX_TRANSITIONS} transitions`)
      if (session.bytes >= MAX_LOG_BYTES) throw sessionFull(id, `a log of ${MAX_LOG_BYTES} bytes`)
      return { kind: 'input', id: input, by, text, ...(action === undefined ? {} : { action }) }
    })
  }

  /**
   * Decides about an effect that is held. The same answer of the same person counts once, however often it comes.
   * @throws SESSION_NOT_FOUND, APPROVAL_NOT_FOUND; APPROVAL_OUTDATED when something else is held than what the person was
   * shown, APPROVAL_DECIDED for one that was decided otherwise or by somebody else, both with what waits now; SESSION_ENDED
   */
  async decide (id: string, effect: string, answer: PersonsAnswer): Promise<{ readonly session: Session, readonly decided: Decided }> {
    let written: AnswerFact | undefined
    const session = await this.#commit(id, session => (written = decisionOn(session, effect, answer, this.#circumstances.about)))
    if (written?.kind === 'took') throw approvalOutdated(id, this.approvals(session).filter(each => each.effect === effect).map(describeApproval)[0])
    if (written !== undefined) return { session, decided: { ...written, at: session.updatedAt } }
    const past = await this.pastApproval(session, effect)
    if (past === undefined) throw approvalNotFound(approvalId(id, effect))
    const { decided } = past
    if (decided === undefined) throw sessionEnded(id, session.status)
    if (isSameAnswer(answer, past.effect, decided)) return { session, decided }
    throw approvalDecided(approvalId(id, effect), { ...decided, at: new Date(decided.at).toISOString() }, this.approvals(session).map(describeApproval)[0])
  }

  /** What waits for a person in a session, as it is shown now. */
  approvals (session: Session): readonly Approval[] {
    return approvalsIn(session, this.#circumstances.about)
  }

  /** What a person was asked, and has answered, out of the log; `undefined` for what nobody was asked. @throws SessionStoreError */
  async pastApproval (session: Session, effect: string): Promise<PastApproval | undefined> {
    const asked = session.asked.get(effect)
    if (asked === undefined) return undefined
    const [asking, deciding] = await Promise.all([asked.seq, asked.decided].map(async seq => seq === undefined ? undefined : await this.#log.transition(session.id, seq)))
    const held = asking?.held.find(each => each.effect.id === effect)
    if (asking === undefined || held === undefined) return undefined
    return { effect: held.effect, asked: approvalOf(session, { effect: held.effect, question: { ...held, at: asking.at } }), decided: deciding?.fact.kind === 'decided' ? { ...deciding.fact, at: deciding.at } : undefined }
  }

  /** Ends a session, whatever it does, but for the moment in which files are written. @throws SESSION_NOT_FOUND, SESSION_BUSY */
  async stop (id: string, by: StopCause, reason: string): Promise<Session> {
    return await this.#commit(id, session => {
      if (ENDED.has(session.status)) return undefined
      if (openIn(session, 'begun').some(({ effect }) => effect.kind === 'apply' || effect.kind === 'commit')) throw sessionBusy(id, session.status, 'it is writing files; try again when it has')
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
    return await this.#mutex.run(id, async () => {
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
        const advanced = advance(before, fact, begins ? this.#gate : owingGate, this.#stamp())
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
      this.#running.abort(before.id)
      await this.#log.stopBroken(before.id, { code: 'LOG_LOST', message, top })
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

  #performAll ({ session, transition }: Advanced): void {
    const { begun, notices } = transition
    this.#options.onWritten?.(session, transition)
    this.#abortStale(session)
    if (notices.some(({ type }) => type === 'done')) this.#options.onEnded?.(session)
    if (this.#options.onSettled !== undefined && (ENDED.has(session.status) || isWaiting(session))) this.#track(this.#options.onSettled(session))
    for (const { id } of begun) {
      const effect = session.open.get(id)?.effect
      if (effect !== undefined && effect.kind !== 'wait') this.#track(this.#perform(session, effect))
    }
  }

  async #perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { id } = session
    await this.#running.run(id, effect.id, async signal => {
      this.#watches.open(id)
      const outcome = await this.#outcomeOf(session, effect, signal)
      // One that was aborted may have succeeded none the less; its failure says nothing.
      if (!signal.aborted || outcome.kind === 'result') await this.#end(id, effect, outcome)
      else if (outcome.kind === 'unknown') await this.#endUnconfirmed(id, effect)
    })
    if (!this.#running.hasAny(id)) this.#watches.close(id)
  }

  /** Tells of what was ended and may run on. Where its session has not ended, the next replica finds it unknown. */
  async #endUnconfirmed (id: string, effect: ActiveEffect): Promise<void> {
    const target = effect.kind === 'exec' ? effect.target : undefined
    this.#options.log.warn({ session: id, effect: effect.id, kind: effect.kind, target }, 'something was ended, and nobody has confirmed that: it may run on')
    await this.#end(id, effect, { kind: 'unknown' }, ({ status }) => ENDED.has(status))
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
   * Writes how an effect ended, as soon as the store can be reached.
   * @param isWanted whether that is to be written. @default unless it has ended otherwise, or another replica has begun it again
   */
  async #end (id: string, effect: ActiveEffect, { kind, ...outcome }: Outcome, isWanted = ({ open }: Session): boolean => open.get(effect.id)?.by === this.#replica): Promise<void> {
    const decide = (session: Session): Fact | undefined => isWanted(session) ? { kind, effect: effect.id, ...outcome } as Fact : undefined
    try {
      await pRetry(() => this.#commit(id, decide), { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry: ({ error }) => error instanceof SessionStoreError && !this.#isClosed })
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Ends what runs here that nobody wants any more: it has ended otherwise, or another replica does it. */
  #abortStale ({ id, open }: Session): void {
    this.#running.abort(id, effect => open.get(effect)?.by !== this.#replica)
  }

  /** Whether a transition with this number is not known here yet. */
  #isNews (id: string, seq: number): boolean {
    return seq > (this.#log.peek(id)?.seq ?? 0)
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
      if (isTaken) await this.#mutex.run(id, () => this.#giveBack(id))
    } catch (error) {
      await this.#failed(id, error)
    }
  }

  /** Makes a session that was taken while it waits due when it has waited too long. */
  async #giveBack (id: string): Promise<void> {
    const session = this.#log.peek(id) ?? await this.#log.load(id)
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
    await this.#log.stopBroken(id, { code: error instanceof EngineDiverged ? 'ENGINE_DIVERGED' : 'ENGINE_FAILED', message }).catch(() => {})
    this.#running.abort(id)
  }

  #nextFact (session: Session, isTaken: boolean): Fact | undefined {
    // An effect that ends because this process closes is left to the next process.
    if (ENDED.has(session.status) || this.#isClosed) return undefined
    const left = openIn(session, 'begun').filter(each => this.#isLeft(session.id, each))
    // Begun here in an append that was given up on, though it had arrived: nobody has done it yet.
    const undone = left.filter(({ by }) => by === this.#replica)
    const lost = isTaken ? left.filter(({ by }) => by !== this.#replica) : []
    const unknown = [...lost, ...undone.filter(({ effect }) => this.#running.wasPerformed(session.id, effect.id))]
      .find(({ effect }) => effect.kind !== 'wait' && !this.#options.performer.isRepeatable(effect))
    if (unknown !== undefined) return { kind: 'unknown', effect: unknown.effect.id }
    const repeats = [...undone, ...lost].map(({ effect }) => effect.id)
    const isMine = isTaken || driverOf(session) === this.#replica
    if (repeats.length > 0 || (isMine && openIn(session, 'owed').length > 0)) return { kind: 'took', repeats }
    const isOver = isWaiting(session) && Date.now() - session.updatedAt >= session.start.budget.idle
    return isTaken && isOver ? { kind: 'stopped', by: 'expiry', reason: 'nobody answered in time' } : undefined
  }

  /** Whether an effect was begun and does not run here. */
  #isLeft (id: string, { effect, by }: OpenEffect): boolean {
    return effect.kind !== 'wait' && !(by === this.#replica && this.#running.has(id, effect.id))
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

/** Why an input is not taken, as whoever sent it is told. */
function refusalOf ({ kind, message }: Refused, { id, status }: Session): ServiceError {
  switch (kind) {
    case 'busy': return sessionBusy(id, status, message)
    case 'invalid': return requestInvalid(message, { part: 'body' })
    case 'outdated': return approvalOutdated(id, undefined)
    case 'disabled': return commitDisabled(id, message)
  }
}

function refuseEnded ({ id, status }: Session): void {
  if (ENDED.has(status)) throw sessionEnded(id, status)
}
