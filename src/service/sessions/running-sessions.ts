import { sessionsUnavailable } from '../../base/errors.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { longWaits } from '../../runtime/process-lock.ts'
import { type Engines, EngineUnknown } from '../../session/advance-session.ts'
import type { Performer } from '../../session/effects.ts'
import { type HeldDisks, type HeldTerminals, NO_DISKS, NO_TERMINALS } from '../../session/fact-writer.ts'
import type { Circumstances } from '../../session/gate.ts'
import type { Transition } from '../../session/model.ts'
import { SessionRunner } from '../../session/runner.ts'
import type { Seals } from '../../session/session-log.ts'
import type { Session } from '../../session/session.ts'
import { type SessionStore, SessionStoreError } from '../../session/store/session-store.ts'
import { type Lookout, lookOut } from './session-storage.ts'

export interface RunningOptions {
  /** Opens the store of sessions, and loads the engines. Called when sessions are first used. */
  readonly open: () => Promise<{ readonly store: SessionStore, readonly engines: Engines, readonly seals: Seals }>
  /** Whether the store has sessions that have not ended. This function loads as little code as it can. */
  readonly isAnyOpen: () => Promise<boolean>
  /** The reason why the store cannot be used now, as far as it was tried. @default none */
  readonly storeProblem?: () => string | undefined
  /** Finishes or undoes changes of files that an earlier process began and did not finish. */
  readonly mend: () => Promise<void>
  readonly performer: Performer
  /** The terminals that this process has open. @default none */
  readonly terminals?: HeldTerminals
  /** The disks with workspaces that this process has. @default none */
  readonly disks?: HeldDisks | undefined
  /** The checks of what sessions are allowed to do. The operator's file, as it is now, decides that. */
  readonly circumstances: Circumstances
  /** Closes the store and the connections to targets. Called when no session runs any more. */
  readonly close: () => Promise<void>
  readonly log: Log
  /** Called with each transition (recorded step) of a session that this process has written. */
  readonly onWritten?: ((session: Session, transition: Transition) => void) | undefined
  readonly onEnded: (session: Session) => void
  /** Called with a session when it begins to wait for somebody, and when it has ended. */
  readonly onSettled?: ((session: Session) => Promise<void>) | undefined
}

/** The opened store of sessions, with the engines and the runner that continue sessions. */
export interface Opened {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly runner: SessionRunner
}

/**
 * Opens the store of sessions, and loads the engines (the rules by which sessions run), when a session is first used. The store stays open until
 * the process ends. Before the first use, not even the code of store and engines is loaded.
 */
export class RunningSessions {
  readonly #options: RunningOptions
  #opened: Promise<Opened> | undefined
  #runner: SessionRunner | undefined
  #lookout: Lookout | undefined

  constructor (options: RunningOptions) {
    this.#options = options
  }

  /**
   * Resumes, before any request arrives, the sessions and the changes of files that earlier processes did not finish. If there are no such
   * sessions or changes, nothing is loaded.
   */
  begin (): void {
    const { mend, isAnyOpen } = this.#options
    void mend()
    this.#lookout = lookOut(async () => this.#opened !== undefined || await isAnyOpen(), () => this.use(async () => {}))
  }

  /** The reason why sessions are unavailable now; `undefined` if they are available. */
  problem (): string | undefined {
    return this.#options.storeProblem?.() ?? this.#lookout?.problem()
  }

  /** What sessions wait for, in words: the lock of a folder whose process has perhaps ended, or a process that has another disk. */
  waits (): readonly string[] {
    return [...longWaits(), ...this.#runner?.waits() ?? []]
  }

  /** How many sessions wait for an engine that no process seems to have, by engine. */
  unknown (): ReadonlyMap<string, number> {
    return this.#runner?.unknown() ?? new Map<string, number>()
  }

  /**
   * Opens the sessions if they are not open yet, and calls `work` with them.
   * @throws SESSIONS_UNAVAILABLE when their store cannot be reached, and what `work` throws
   */
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
    const { open, performer, terminals = NO_TERMINALS, disks = NO_DISKS, circumstances, log, onWritten, onEnded, onSettled } = this.#options
    const { store, engines, seals } = await open()
    const watchers = { onEnded, ...(onWritten === undefined ? {} : { onWritten }), ...(onSettled === undefined ? {} : { onSettled }) }
    const runner = new SessionRunner({ store, engines, seals, performer, terminals, disks, circumstances, log, ...watchers })
    this.#runner = runner
    runner.open()
    return { store, engines, seals, runner }
  }
}

/** Reads the first item of a list at once, so that an unreachable store is noticed before the reply has begun. @returns all items */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** Passes on the items that are read from the store of sessions. If the store fails, even between two items, it throws SESSIONS_UNAVAILABLE. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw inWords(error)
  }
}

/** The error for callers when the store of sessions cannot be reached, or the engine of one is not here; any other error is returned unchanged. */
function inWords (error: unknown): unknown {
  if (error instanceof EngineUnknown) return sessionsUnavailable(`${error.message}; a process of the version that has it goes on with the session`)
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
