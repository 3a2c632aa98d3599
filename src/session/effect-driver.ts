import { LRUCache } from 'lru-cache'
import type { JsonObject } from '../base/json.ts'
import type { Log } from '../runtime/telemetry.ts'
import type { ActiveEffect, Outcome, Performer } from './effects.ts'
import { ENDED, type Fact } from './model.ts'
import type { Session } from './session.ts'
import { retryUntilClosed, type SessionStore } from './store/session-store.ts'
import type { Commit, Replica } from './fact-writer.ts'

/** Effects of which this process remembers that it performed them. */
const REMEMBERED = 10_000

export class RunningEffects {
  readonly #controllers = new Map<string, Map<string, AbortController>>()
  // With `max`, the cache would reserve the memory for all entries at once.
  readonly #performed = new LRUCache<string, true>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })

  get sessions (): string[] {
    return [...this.#controllers.keys()]
  }

  has (session: string, effect: string): boolean {
    return this.#controllers.get(session)?.has(effect) === true
  }

  hasAny (session: string): boolean {
    return this.#controllers.has(session)
  }

  /** The log does not always tell: the store may have lost the last entries. */
  wasPerformed (session: string, effect: string): boolean {
    return this.#performed.has(`${session}:${effect}`)
  }

  async run (session: string, effect: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    this.#performed.set(`${session}:${effect}`, true)
    const running = this.#controllers.get(session) ?? new Map<string, AbortController>()
    this.#controllers.set(session, running.set(effect, controller))
    await work(controller.signal)
    // The same effect may have begun again, with another controller.
    if (running.get(effect) === controller) running.delete(effect)
    if (running.size === 0 && this.#controllers.get(session) === running) this.#controllers.delete(session)
  }

  /** @param isUnwanted @default all */
  abort (session: string, isUnwanted: (effect: string) => boolean = () => true): void {
    for (const [effect, controller] of this.#controllers.get(session) ?? []) if (isUnwanted(effect)) controller.abort()
  }

  abortAll (): void {
    for (const session of this.sessions) this.abort(session)
  }
}

/** So this process hears of entries of other replicas, such as a stop or an approval, for sessions that it drives. */
export class Watches {
  readonly #store: SessionStore
  readonly #onNews: (id: string, seq: number) => void
  readonly #onLive: (live: JsonObject) => void
  readonly #open = new Map<string, Promise<() => void>>()
  readonly #kept = new Set<string>()

  /** @param onNews gets the number of a new entry, or `Infinity` when there are perhaps new ones */
  constructor (store: SessionStore, onNews: (id: string, seq: number) => void, onLive: (live: JsonObject) => void = () => {}) {
    this.#store = store
    this.#onNews = onNews
    this.#onLive = onLive
  }

  keep (id: string): void {
    this.#kept.add(id)
    this.open(id)
  }

  release (id: string): void {
    this.#kept.delete(id)
    this.close(id)
  }

  open (id: string): void {
    if (this.#open.has(id)) return
    const look = (): void => { this.#onNews(id, Infinity) }
    const listener = { onAppend: (seq: number) => { this.#onNews(id, seq) }, onLive: this.#onLive, onGap: look }
    const watch = this.#store.watch(id, listener).catch(() => () => {})
    this.#open.set(id, watch)
    // Entries from before the watch did not reach the listener, so `onNews` is called once in any case.
    void watch.then(look)
  }

  close (id: string): void {
    if (this.#kept.has(id)) return
    const watch = this.#open.get(id)
    this.#open.delete(id)
    void watch?.then(stop => { stop() })
  }

  async closeAll (): Promise<void> {
    for (const watch of this.#open.values()) (await watch)()
  }
}

interface EffectDriverOptions {
  readonly replica: Replica
  readonly store: SessionStore
  readonly performer: Performer
  readonly running: RunningEffects
  readonly watches: Watches
  readonly log: Log
  readonly commit: Commit
  /** Called when an outcome cannot be written to the log. */
  readonly onFailed: (id: string, error: unknown) => Promise<void>
}

/** Performs the effects (model calls, commands …) that this process has begun, and writes to the session's log how each of them ended. */
export class EffectDriver {
  readonly #options: EffectDriverOptions

  constructor (options: EffectDriverOptions) {
    this.#options = options
  }

  /** Resolves when the outcome is written to the log. */
  async perform (session: Session, effect: ActiveEffect): Promise<void> {
    const { running, watches } = this.#options
    const { id } = session
    await running.run(id, effect.id, async signal => {
      watches.open(id)
      const outcome = await this.#outcomeOf(session, effect, signal)
      // An aborted effect can succeed: its result counts. A failure only says that it was aborted.
      if (!signal.aborted || outcome.kind === 'result') await this.#end(id, effect, outcome)
      else if (outcome.kind === 'unknown') await this.#endUnconfirmed(id, effect)
    })
    if (!running.hasAny(id)) watches.close(id)
  }

  /** Aborts effects that according to the log have ended, or that another replica performs. */
  abortStale ({ id, open }: Session): void {
    const { running, replica } = this.#options
    running.abort(id, effect => open.get(effect)?.by !== replica.id)
  }

  /** Only for an ended session: else the next replica that takes it records that the effect's end is unknown. */
  async #endUnconfirmed (id: string, effect: ActiveEffect): Promise<void> {
    const target = effect.kind === 'exec' ? effect.target : undefined
    const about = { session: id, effect: effect.id, kind: effect.kind, target }
    this.#options.log.warn(about, 'something was ended, and nobody has confirmed that: it may run on')
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

  /** Writes as soon as the store can be reached. @param isWanted @default while the log says that this replica performs the effect */
  async #end (id: string, effect: ActiveEffect, outcome: Outcome, isWanted = (session: Session): boolean => this.#isOwn(session, effect)): Promise<void> {
    const { replica: { closing }, commit, onFailed } = this.#options
    const { kind, ...rest } = outcome
    const decide = (session: Session): Fact | undefined => isWanted(session) ? { kind, effect: effect.id, ...rest } as Fact : undefined
    try {
      await retryUntilClosed(closing, () => commit(id, decide))
    } catch (error) {
      await onFailed(id, error)
    }
  }

  #isOwn ({ open }: Session, { id }: ActiveEffect): boolean {
    return open.get(id)?.by === this.#options.replica.id
  }
}
