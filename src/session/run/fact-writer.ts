import { randomUUID } from 'node:crypto'
import { sessionEnded, sessionNotFound } from '../../base/errors.ts'
import { type Log } from '../../base/log.ts'
import { advance, type Advanced, begin, type Stamp } from '../advance.ts'
import { type Engines, EngineUnknown } from '../fold.ts'
import { type Gate, owingGate } from '../gate.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { ENDED, type Fact, type Start } from '../model.ts'
import { driverOf, isWaiting, type Session } from '../session.ts'
import { LogLost, type SessionLog } from '../session-log.ts'
import { type Append } from '../session-store.ts'
import { type Residence } from './residence.ts'

/** This process as a replica: one of the service processes that share the sessions of a store. */
export interface Replica {
  /** A random id of this process. */
  readonly id: string
  /** The length of a lease, in ms: when a replica was silent for this time, another replica takes over its sessions. */
  readonly lease: number
  /** Aborts when the process closes. */
  readonly closing: AbortSignal
}

export interface FactWriterOptions {
  readonly replica: Replica
  readonly engines: Engines
  readonly sessions: SessionLog
  readonly residence: Residence
  readonly gate: Gate
  readonly log: Log
  /** Called with each transition (log entry) that this process has written. */
  readonly onWritten: (advanced: Advanced) => void
  /** Called with the id of a session when the store has lost a part of the session's log. */
  readonly onLost: (id: string) => void
}

/** Adds facts (what happened: an input, a result) to sessions: computes the transition that follows from a fact, and appends it to the session's log. */
export class FactWriter {
  readonly #options: FactWriterOptions
  readonly #mutex = new KeyedMutex()

  constructor (options: FactWriterOptions) {
    this.#options = options
  }

  /** Begins a session; returns the existing session when one with this id was begun already. @throws EngineUnknown, SessionStoreError */
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
        // The previous driver (the replica that performed the effects) can still append after this replica took the session. The store then names
        // that replica as the driver again. The effects still run there, so they must not count as lost.
        if (isTaken && await sessions.driverOf(id) !== replica.id) return before
        const fact = decide(before)
        if (fact === undefined) return before
        const driver = driverOf(before)
        const isElsewhere = driver === undefined && await residence.of(before) === 'elsewhere'
        const drives = isTaken || (driver === undefined && !isElsewhere) || driver === replica.id || fact.kind === 'stopped'
        // All running effects of a session belong to one replica. So this replica begins none while the log names effects of another replica as running.
        const begins = drives && !this.#isClosed && !(isTaken && fact.kind === 'unknown')
        const advanced = advance(before, fact, begins ? gate : owingGate, this.#stamp())
        if (!await this.#append(advanced, before, drives, isElsewhere)) continue
        onWritten(advanced)
        return advanced.session
      }
    })
  }

  /** Runs `work` while this process appends nothing else to the session's log. */
  async exclusively<T> (id: string, work: () => Promise<T>): Promise<T> {
    return await this.#mutex.run(id, work)
  }

  /** Appends a transition to a session's log. @param isElsewhere whether another process holds the session's terminal, and so has to drive the session */
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

  /**
   * The id of the driver (the replica that performs the effects) for the session's head, after this replica has written a transition: this replica's
   * own id, or `undefined` when the session only waits for a person or has ended, or when this process closes.
   */
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
