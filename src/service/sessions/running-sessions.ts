import { type Log } from '../../base/log.ts'
import { type Engines } from '../../session/fold.ts'
import { type Circumstances } from '../../session/gate.ts'
import { type Transition } from '../../session/model.ts'
import { type Performer } from '../../session/performer.ts'
import { type HeldTerminals, NO_TERMINALS } from '../../session/run/residence.ts'
import { SessionRunner } from '../../session/run/runner.ts'
import { type Seals } from '../../session/seal.ts'
import { type Session } from '../../session/session.ts'
import { type SessionStore } from '../../session/session-store.ts'
import { inWords } from './reading/available.ts'
import { type Lookout, lookOut } from './storage/left-behind.ts'

export interface RunningOptions {
  /** Opens the store and loads what runs sessions, when they are first used. */
  readonly open: () => Promise<{ readonly store: SessionStore, readonly engines: Engines, readonly seals: Seals }>
  /** Whether there are sessions that have not ended; loads as little as it can. */
  readonly isAnyOpen: () => Promise<boolean>
  /** Brings to an end what an earlier process has begun to change, if anything. */
  readonly mend: () => Promise<void>
  readonly performer: Performer
  /** The terminals that this process holds. @default none */
  readonly terminals?: HeldTerminals
  /** What the operator says now. */
  readonly circumstances: Circumstances
  /** Ends the store and connections of targets, when no session runs any more. */
  readonly close: () => Promise<void>
  readonly log: Log
  /** Called with each transition that this process has written. */
  readonly onWritten?: ((session: Session, transition: Transition) => void) | undefined
  readonly onEnded: (session: Session) => void
  /** Called with each session that waits now or has ended. */
  readonly onSettled?: ((session: Session) => Promise<void>) | undefined
}

/** The store of the sessions and what runs them. */
export interface Opened {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly runner: SessionRunner
}

/** What runs sessions, from the first use to the end of the process. Before the first use nothing of it is loaded. */
export class RunningSessions {
  readonly #options: RunningOptions
  #opened: Promise<Opened> | undefined
  #store: SessionStore | undefined
  #lookout: Lookout | undefined

  constructor (options: RunningOptions) {
    this.#options = options
  }

  /** Goes on with what earlier processes have left, without anybody asking. Where there is nothing, nothing is loaded. */
  begin (): void {
    const { mend, isAnyOpen } = this.#options
    void mend()
    this.#lookout = lookOut(async () => this.#opened !== undefined || await isAnyOpen(), () => this.use(async () => {}))
  }

  /** Why sessions cannot be had now, if so. */
  problem (): string | undefined {
    return this.#store === undefined ? this.#lookout?.problem() : this.#store.problem()
  }

  /** Does something with sessions. @throws SESSIONS_UNAVAILABLE when their store cannot be reached, and what `work` throws */
  async use<T> (work: (opened: Opened) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= this.#open()
      return await work(await this.#opened)
    } catch (error) {
      throw inWords(error)
    }
  }

  async close (): Promise<void> {
    this.#lookout?.close()
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.runner.close()
    await this.#options.close()
  }

  async #open (): Promise<Opened> {
    const { open, performer, terminals = NO_TERMINALS, circumstances, log, onWritten, onEnded, onSettled } = this.#options
    const { store, engines, seals } = await open()
    this.#store = store
    const watchers = { onEnded, ...(onWritten === undefined ? {} : { onWritten }), ...(onSettled === undefined ? {} : { onSettled }) }
    const runner = new SessionRunner({ store, engines, seals, performer, terminals, circumstances, log, ...watchers })
    runner.open()
    return { store, engines, seals, runner }
  }
}
