import { sessionsUnavailable } from '../../base/errors.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { longWaits } from '../../runtime/process-lock.ts'
import { type Engines, EngineUnknown } from '../../session/advance-session.ts'
import type { Performer } from '../../session/effects.ts'
import { type HeldDisks, type HeldTerminals, NO_DISKS, NO_TERMINALS } from '../../session/fact-writer.ts'
import type { PolicyContext } from '../../session/gate.ts'
import type { LogEntry } from '../../session/model.ts'
import { SessionRunner } from '../../session/runner.ts'
import type { Seals } from '../../session/session-log.ts'
import type { Session } from '../../session/session.ts'
import { type SessionStore, SessionStoreError } from '../../session/store/session-store.ts'
import { type Lookout, lookOut } from './session-storage.ts'

interface RunningOptions {
  readonly open: () => Promise<{ readonly store: SessionStore, readonly engines: Engines, readonly seals: Seals }>
  readonly isAnyOpen: () => Promise<boolean>
  /** As far as the store was tried. @default none */
  readonly storeProblem?: () => string | undefined
  readonly mend: () => Promise<void>
  readonly performer: Performer
  readonly terminals?: HeldTerminals
  readonly disks?: HeldDisks | undefined
  /** By the operator's file as it is now. */
  readonly circumstances: PolicyContext
  readonly close: () => Promise<void>
  readonly log: Log
  readonly onWritten?: ((session: Session, transition: LogEntry) => void) | undefined
  readonly onEnded: (session: Session) => void
  readonly onSettled?: ((session: Session) => Promise<void>) | undefined
}

export interface OpenedSessions {
  readonly store: SessionStore
  readonly engines: Engines
  readonly seals: Seals
  readonly runner: SessionRunner
}

/** Opens the store and loads the engines at first use (before, not even their code); the store stays open until the end. */
export class RunningSessions {
  readonly #options: RunningOptions
  #opened: Promise<OpenedSessions> | undefined
  #runner: SessionRunner | undefined
  #lookout: Lookout | undefined

  constructor (options: RunningOptions) {
    this.#options = options
  }

  /** Resumes what earlier processes did not finish, before any request; loads nothing if there is none. */
  begin (): void {
    const { mend, isAnyOpen } = this.#options
    void mend()
    this.#lookout = lookOut(async () => this.#opened !== undefined || await isAnyOpen(), () => this.use(async () => {}))
  }

  problem (): string | undefined {
    return this.#options.storeProblem?.() ?? this.#lookout?.problem()
  }

  waits (): readonly string[] {
    return [...longWaits(), ...this.#runner?.waits() ?? []]
  }

  unknown (): ReadonlyMap<string, number> {
    return this.#runner?.unknown() ?? new Map<string, number>()
  }

  /** @throws SESSIONS_UNAVAILABLE when their store cannot be reached, and what `work` throws */
  async use<T> (work: (opened: OpenedSessions) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= this.#open()
      return await work(await this.#opened)
    } catch (error) {
      throw storeErrorOf(error)
    }
  }

  async close (): Promise<void> {
    this.#lookout?.close()
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.runner.close()
    await this.#options.close()
  }

  async #open (): Promise<OpenedSessions> {
    const { open, performer, terminals = NO_TERMINALS, disks = NO_DISKS, circumstances, log, onWritten, onEnded, onSettled } = this.#options
    const { store, engines, seals } = await open()
    const watchers = { onEnded, onWritten, onSettled }
    const runner = new SessionRunner({ store, engines, seals, performer, terminals, disks, circumstances, log, ...watchers })
    this.#runner = runner
    runner.open()
    return { store, engines, seals, runner }
  }
}

/** Reads the first item at once, so that an unreachable store is noticed before the reply has begun. */
export async function begun<T> (read: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await read.next()
  return (async function * () {
    if (first.done !== true) yield first.value
    yield * read
  })()
}

/** If the store fails, even between two items, it throws SESSIONS_UNAVAILABLE. */
export async function * available<T> (read: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield * read
  } catch (error) {
    throw storeErrorOf(error)
  }
}

/** Other errors are returned unchanged. */
function storeErrorOf (error: unknown): unknown {
  if (error instanceof EngineUnknown) return sessionsUnavailable(`${error.message}; a process of the version that has it goes on with the session`)
  return error instanceof SessionStoreError ? sessionsUnavailable(error.message) : error
}
