/** Wakes all who wait for it. */
export class Bell {
  readonly #wakes = new Set<() => void>()

  ring (): void {
    for (const wake of this.#wakes) wake()
  }

  /** Resolves when it rings, after a time, or when a signal aborts. @param most in ms */
  async rung (most: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return
    await new Promise<void>(resolve => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#wakes.delete(wake)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, most)
      this.#wakes.add(wake)
      signal?.addEventListener('abort', wake)
    })
  }
}
