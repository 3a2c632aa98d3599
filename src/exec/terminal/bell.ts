/** A bell: `ring` wakes all callers that wait in `rung`. */
export class Bell {
  readonly #wakes = new Set<() => void>()

  ring (): void {
    for (const wake of this.#wakes) wake()
  }

  /** Resolves when the bell rings, when the time is over, or when the signal aborts. @param most the longest wait, in ms */
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
