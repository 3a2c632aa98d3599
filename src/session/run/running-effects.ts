import { LRUCache } from 'lru-cache'

/** The most effects of which this process remembers that it has performed them. */
const REMEMBERED = 10_000

/** The effects (model calls, commands …) that this process performs now, by session, and the ids of the effects that it performed lately. */
export class RunningEffects {
  readonly #controllers = new Map<string, Map<string, AbortController>>()
  // The cache is limited by the sum of sizes, where each entry has the size 1. Limited by a number of entries, the cache would reserve the memory
  // for all entries at once.
  readonly #performed = new LRUCache<string, true>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })

  /** The ids of sessions for which this process performs an effect now. */
  get sessions (): string[] {
    return [...this.#controllers.keys()]
  }

  has (session: string, effect: string): boolean {
    return this.#controllers.get(session)?.has(effect) === true
  }

  hasAny (session: string): boolean {
    return this.#controllers.has(session)
  }

  /** Whether this process remembers that it has performed an effect. The log does not always tell that: the store may have lost the last entries. */
  wasPerformed (session: string, effect: string): boolean {
    return this.#performed.has(`${session}:${effect}`)
  }

  /** Runs `work`, which performs an effect. Until `work` has ended, the effect counts as running. */
  async run (session: string, effect: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    this.#performed.set(`${session}:${effect}`, true)
    const running = this.#controllers.get(session) ?? new Map<string, AbortController>()
    this.#controllers.set(session, running.set(effect, controller))
    await work(controller.signal)
    // The same effect may have begun again meanwhile, with another controller.
    if (running.get(effect) === controller) running.delete(effect)
    if (running.size === 0 && this.#controllers.get(session) === running) this.#controllers.delete(session)
  }

  /** Aborts running effects of a session. @param isUnwanted says which effects to abort. @default all */
  abort (session: string, isUnwanted: (effect: string) => boolean = () => true): void {
    for (const [effect, controller] of this.#controllers.get(session) ?? []) if (isUnwanted(effect)) controller.abort()
  }

  abortAll (): void {
    for (const session of this.sessions) this.abort(session)
  }
}
