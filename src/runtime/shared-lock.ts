/** Work that waits for the lock. `isAlone` says that no other work may run beside it. */
interface Waiting {
  readonly isAlone: boolean
  enter (): void
}

/**
 * A lock for two kinds of work: work that may run side by side, and work that must run alone. Both begin in the order in which they ask. It is a
 * readers-writer lock.
 */
export class SharedLock {
  readonly #queue = new Set<Waiting>()
  #inside = 0
  #isAlone = false

  /** Runs work beside other work that may run side by side. @param signal ends the waiting when it aborts @throws the signal's reason */
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
        // The work that comes next in the queue may have waited only for this one.
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
