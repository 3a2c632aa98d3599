/** How many performed effects this process remembers. */
const REMEMBERED = 10_000

/** The effects that this process performs now, by session, and the last ones that it has performed. */
export class RunningEffects {
  readonly #controllers = new Map<string, Map<string, AbortController>>()
  /** Keys of performed effects, the oldest first. */
  readonly #performed = new Set<string>()

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

  /** Whether this process remembers to have performed an effect. A log that has lost its end does not tell. */
  wasPerformed (session: string, effect: string): boolean {
    return this.#performed.has(`${session}:${effect}`)
  }

  /** Counts an effect as running while `work` lasts. */
  async run (session: string, effect: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const controller = new AbortController()
    this.#remember(`${session}:${effect}`)
    const running = this.#controllers.get(session) ?? new Map<string, AbortController>()
    this.#controllers.set(session, running.set(effect, controller))
    await work(controller.signal)
    // The same effect may have begun again meanwhile.
    if (running.get(effect) === controller) running.delete(effect)
    if (running.size === 0 && this.#controllers.get(session) === running) this.#controllers.delete(session)
  }

  #remember (key: string): void {
    this.#performed.delete(key)
    this.#performed.add(key)
    if (this.#performed.size <= REMEMBERED) return
    const [oldest = ''] = this.#performed
    this.#performed.delete(oldest)
  }

  /** Aborts running effects of a session. @param isUnwanted says which effects to abort. @default all */
  abort (session: string, isUnwanted: (effect: string) => boolean = () => true): void {
    for (const [effect, controller] of this.#controllers.get(session) ?? []) if (isUnwanted(effect)) controller.abort()
  }

  abortAll (): void {
    for (const session of this.sessions) this.abort(session)
  }
}
