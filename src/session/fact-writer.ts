import { randomUUID } from 'node:crypto'
import { approvalDecided, approvalNotFound, approvalOutdated, sessionEnded, sessionNotFound } from '../base/errors.ts'
import type { Log } from '../runtime/telemetry.ts'
import { advance, type Advanced, begin, type Engines, EngineUnknown, type Stamp } from './advance-session.ts'
import {
  type AnswerFact, type Approval, approvalId, approvalOf, approvalsIn, type RecordedDecision, decisionOn, describeApproval, isSameAnswer, type PastApproval,
  type PersonsAnswer
} from './approvals.ts'
import { type PolicyContext, type Gate, owingGate } from './gate.ts'
import { type Effect, ENDED, type Fact, type Start } from './model.ts'
import { KeyedMutex, LogLost, type SessionLog } from './session-log.ts'
import { driverOf, isWaiting, openIn, type Session } from './session.ts'
import type { Append, SessionStore } from './store/session-store.ts'

export type Commit = (id: string, decide: (session: Session) => Fact | undefined) => Promise<Session>

export class ApprovalLog {
  readonly #log: SessionLog
  readonly #about: PolicyContext['about']
  readonly #commit: Commit

  constructor (log: SessionLog, about: PolicyContext['about'], commit: Commit) {
    this.#log = log
    this.#about = about
    this.#commit = commit
  }

  of (session: Session): readonly Approval[] {
    return approvalsIn(session, this.#about)
  }

  /** An equal answer of the same person counts once. @throws SESSION_NOT_FOUND, APPROVAL_NOT_FOUND, SESSION_ENDED, APPROVAL_OUTDATED, APPROVAL_DECIDED */
  async decide (
    id: string,
    effect: string,
    answer: PersonsAnswer,
    mayShow: (effect: Effect) => boolean
  ): Promise<{ readonly session: Session, readonly decided: RecordedDecision }> {
    let written: AnswerFact | undefined
    const session = await this.#commit(id, before => (written = decisionOn(before, effect, answer, this.#about)))
    if (written?.kind === 'took') throw approvalOutdated(id, this.of(session).filter(each => each.effect === effect).map(describeApproval)[0])
    if (written !== undefined) return { session, decided: { ...written, at: session.updatedAt } }
    const past = await this.past(session, effect)
    if (past === undefined) throw approvalNotFound(approvalId(id, effect))
    const { decided } = past
    if (decided === undefined) throw sessionEnded(id, session.status)
    if (isSameAnswer(answer, past.effect, decided)) return { session, decided }
    const [next] = openIn(session, 'held').filter(open => mayShow(open.effect)).map(open => describeApproval(approvalOf(session, open, this.#about)))
    throw approvalDecided(approvalId(id, effect), { ...decided, at: new Date(decided.at).toISOString() }, next)
  }

  /** `undefined` where nobody was asked. @throws SessionStoreError */
  async past (session: Session, effect: string): Promise<PastApproval | undefined> {
    const asked = session.asked.get(effect)
    if (asked === undefined) return undefined
    const transition = async (seq: number | undefined) => seq === undefined ? undefined : await this.#log.transition(session.id, seq)
    const [asking, deciding] = await Promise.all([transition(asked.seq), transition(asked.decided)])
    const held = asking?.held.find(each => each.effect.id === effect)
    if (asking === undefined || held === undefined) return undefined
    return {
      effect: held.effect,
      asked: approvalOf(session, { effect: held.effect, question: { ...held, at: asking.at } }),
      decided: deciding?.fact.kind === 'decided' ? { ...deciding.fact, at: deciding.at } : undefined
    }
  }
}

export interface HeldTerminals {
  has (terminal: string): boolean
}

export interface HeldDisks {
  has (disk: string): boolean
  ids (): readonly string[]
}

export const NO_DISKS: HeldDisks = { has: () => false, ids: () => [] }

export const NO_TERMINALS: HeldTerminals = { has: () => false }

/** The live message that tells the holder of a terminal or disk that a session of it has to go on. */
export const IN_TERMINAL = 'terminal.session'

/** The holder of a session's terminal drives it; where it works on files, any process that has their disk. */
export class SessionPlacement {
  readonly #store: Pick<SessionStore, 'head'>
  readonly #held: HeldTerminals
  readonly #disks: HeldDisks

  constructor (store: Pick<SessionStore, 'head'>, held: HeldTerminals, disks: HeldDisks) {
    this.#store = store
    this.#held = held
    this.#disks = disks
  }

  isHere ({ start: { terminal, disk }, status }: Pick<Session, 'start' | 'status'>): boolean {
    return !ENDED.has(status) && (terminal === undefined ? disk !== undefined && this.#disks.has(disk.id) : this.#held.has(terminal))
  }

  /** @throws SessionStoreError */
  async of (session: Pick<Session, 'start' | 'status'>): Promise<'here' | 'elsewhere' | 'anywhere'> {
    const { start: { terminal, disk }, status } = session
    if ((terminal ?? disk) === undefined || ENDED.has(status)) return 'anywhere'
    if (this.isHere(session)) return 'here'
    if (terminal === undefined) return 'elsewhere'
    const head = await this.#store.head(terminal)
    return head === undefined || ENDED.has(head.status) ? 'anywhere' : 'elsewhere'
  }
}

export interface Replica {
  readonly id: string
  /** In ms of silence, after which another replica takes over the sessions. */
  readonly lease: number
  readonly closing: AbortSignal
}

interface FactWriterOptions {
  readonly replica: Replica
  readonly engines: Engines
  readonly sessions: SessionLog
  readonly residence: SessionPlacement
  readonly gate: Gate
  readonly log: Log
  readonly onWritten: (advanced: Advanced) => void
  /** Called when the store has lost a part of a session's log. */
  readonly onLost: (id: string) => void
}

export class FactWriter {
  readonly #options: FactWriterOptions
  readonly #mutex = new KeyedMutex()

  constructor (options: FactWriterOptions) {
    this.#options = options
  }

  /** Returns the existing session of this id, if any. @throws EngineUnknown, SessionStoreError */
  async start (id: string, start: Start): Promise<Session> {
    const { sessions, engines, residence, gate, onWritten } = this.#options
    return await this.exclusively(id, async () => {
      const known = await sessions.load(id)
      if (known !== undefined) return known
      const engine = engines.get(start.engine)
      if (engine === undefined) throw new EngineUnknown(`no engine ${start.engine} is here`)
      const isElsewhere = await residence.of({ start, status: 'running' }) === 'elsewhere'
      const advanced = begin(id, start, engine, this.#isClosed || isElsewhere ? owingGate : gate, this.#stamp())
      if (await sessions.append(advanced, undefined, isElsewhere ? undefined : this.#driverOf(advanced.session), this.#dueOf(advanced.session))) {
        onWritten(advanced)
        return advanced.session
      }
      return await sessions.load(id) ?? advanced.session
    })
  }

  /**
   * Adds a fact to a session. When another writer is first, calls `decide` again with the session's new state, as often as needed. The first call
   * gets the session from the cache. An outdated session does no harm: the store refuses the append. When `decide` returns no fact, or throws, for
   * the cached session, `decide` is called again with the session as it is in the store.
   * @param decide gives the fact, or `undefined` to leave the session as it is
   * @param isTaken whether the store gave the session to this replica because it was due
   * @throws SESSION_NOT_FOUND, and SESSION_ENDED when a part of the log is lost; EngineDiverged, SessionStoreError; what `decide` throws
   */
  async commit (id: string, decide: (session: Session) => Fact | undefined, isTaken = false): Promise<Session> {
    const { sessions, replica, residence, gate, onWritten } = this.#options
    return await this.exclusively(id, async () => {
      for (let known = isTaken ? undefined : sessions.peek(id); ; known = undefined) {
        const before = known !== undefined && wouldAdd(known, decide) ? known : await sessions.load(id)
        if (before === undefined) throw sessionNotFound(id)
        // The previous driver can still append after this replica took the session: its effects must not count as lost.
        if (isTaken && await sessions.driverOf(id) !== replica.id) return before
        const fact = decide(before)
        if (fact === undefined) return before
        const driver = driverOf(before)
        const isElsewhere = driver === undefined && await residence.of(before) === 'elsewhere'
        const drives = isTaken || (driver === undefined && !isElsewhere) || driver === replica.id || fact.kind === 'stopped'
        // All running effects of a session belong to one replica: none begin while the log names others' as running.
        const begins = drives && !this.#isClosed && !(isTaken && fact.kind === 'unknown')
        const advanced = advance(before, fact, begins ? gate : owingGate, this.#stamp())
        if (!await this.#append(advanced, before, drives, isElsewhere)) continue
        onWritten(advanced)
        return advanced.session
      }
    })
  }

  async exclusively<T> (id: string, work: () => Promise<T>): Promise<T> {
    return await this.#mutex.run(id, work)
  }

  /** @param isElsewhere another process holds the session's terminal, and has to drive it */
  async #append (advanced: Advanced, before: Session, drives: boolean, isElsewhere: boolean): Promise<boolean> {
    const { sessions, log, onLost } = this.#options
    const { session } = advanced
    try {
      if (!drives) return await sessions.append(advanced, before, undefined, isElsewhere ? this.#dueOf(session) : 'keep')
      return await sessions.append(advanced, before, this.#driverOf(session), this.#dueOf(session))
    } catch (error) {
      if (!(error instanceof LogLost)) throw error
      const { message, top } = error
      log.error({ session: before.id, reason: message }, 'the store has lost a part of a session')
      onLost(before.id)
      await sessions.stopBroken(before.id, { code: 'LOG_LOST', message, top })
      throw sessionEnded(before.id, `LOG_LOST: ${message}`)
    }
  }

  get #isClosed (): boolean {
    return this.#options.replica.closing.aborted
  }

  #stamp (): Stamp {
    return { at: Date.now(), token: randomUUID(), by: this.#options.replica.id }
  }

  /** `undefined` when the session only waits for a person or has ended, or when this process closes. */
  #driverOf (session: Session): string | undefined {
    return isWaiting(session) || this.#isClosed ? undefined : this.#options.replica.id
  }

  #dueOf (session: Session): Append['due'] {
    if (ENDED.has(session.status)) return 'never'
    if (isWaiting(session)) return session.start.budget.idle
    return this.#isClosed ? 0 : this.#options.replica.lease
  }
}

function wouldAdd (session: Session, decide: (session: Session) => Fact | undefined): boolean {
  try {
    return decide(session) !== undefined
  } catch {
    return false
  }
}
