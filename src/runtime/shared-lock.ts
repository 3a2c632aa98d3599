/** Work that waits for the lock. `isAlone`: no other work is allowed to run at the same time. */
interface Waiting {
  readonly isAlone: boolean
  enter (): void
}

/**
 * A readers-writer lock. It runs two kinds of work: shared work, of which several pieces can run at the same time, and work that must run alone. All
 * work begins in the order in which it asked for the lock.
 */
export class SharedLock {
  readonly #queue = new Set<Waiting>()
  #inside = 0
  #isAlone = false

  /** Runs shared work: other shared work can run at the same time. @param signal ends the waiting when it aborts @throws the signal's reason */
  async beside<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return await this.#within(false, signal, work)
  }

  /** Runs work while no other work runs. @param signal ends the waiting when it aborts @throws the signal's reason */
  async alone<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return await this.#within(true, signal, work)
  }

  async #within<T> (isAlone: boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(isAlone, signal)
    try {
      return await work()
    } finally {
      this.#inside--
      this.#admit()
    }
  }

  async #enter (isAlone: boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#queue.delete(waiting)
        // Perhaps the next work in the queue waited only because this work stood before it.
        this.#admit()
        const reason: unknown = signal.reason
        reject(reason instanceof Error ? reason : new Error('aborted', { cause: reason }))
      }
      const waiting = {
        isAlone,
        enter () {
          signal.removeEventListener('abort', leave)
          resolve()
        }
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#queue.add(waiting)
      this.#admit()
    })
  }

  #admit (): void {
    for (const waiting of this.#queue) {
      if (this.#inside > 0 && (waiting.isAlone || this.#isAlone)) return
      this.#queue.delete(waiting)
      this.#inside++
      this.#isAlone = waiting.isAlone
      waiting.enter()
    }
  }
}
