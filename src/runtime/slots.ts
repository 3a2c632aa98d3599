import { type CallerSignal } from './caller-signal.ts'

/** Gives a slot back. Calling it again does nothing. */
export type Release = () => void

/** The error that neither a slot nor a place in the queue is free, or that the wait took too long. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'
}

/** The most calls that run at the same time (`concurrency`), and the most that wait (`queue`). */
export interface SlotLimits {
  readonly concurrency: number
  readonly queue: number
  /** The longest wait for a slot, in ms. If it is absent, a call waits until it gets a slot or its caller gives up. */
  readonly wait?: number
}

/**
 * A fixed number of slots with a queue, first come, first served: a semaphore. The package p-limit is not used, because a caller who has left would
 * stay in its queue, and because it knows only functions, not streams that go on after their function has returned.
 */
export class Slots {
  readonly #limits: SlotLimits
  // The callers that wait for a slot, in order of arrival. A caller that gives up is removed at once.
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor (limits: SlotLimits) {
    this.#limits = limits
  }

  /** Whether the next call of `acquire` would have to wait. */
  get isFull (): boolean {
    return this.#taken >= this.#limits.concurrency
  }

  /** The number of calls that wait for a slot. */
  get waiting (): number {
    return this.#waiting.size
  }

  /** Waits for a slot, and returns the function that gives the slot back. @throws NoSlotError; the signal's reason when it aborts during the wait */
  async acquire (signal: CallerSignal): Promise<Release> {
    signal.throwIfAborted()
    // A slot that is given back goes directly to the first in the queue, so no slot is free while somebody waits.
    if (this.#taken < this.#limits.concurrency) this.#taken++
    else await this.#turn(signal)
    return this.#releaseOnce()
  }

  #turn (signal: CallerSignal): Promise<void> {
    const { queue, wait } = this.#limits
    if (this.#waiting.size >= queue) throw new NoSlotError('the queue is full')
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.#waiting.delete(enter)
        outcome()
      }
      const enter = () => settle(resolve)
      const leave = () => settle(() => reject(signal.reason))
      const timer = wait === undefined ? undefined : setTimeout(() => settle(() => reject(new NoSlotError(`no slot within ${wait} ms`))), wait)
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.add(enter)
    })
  }

  #releaseOnce (): Release {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const [next] = this.#waiting
      if (next === undefined) this.#taken--
      else next()
    }
  }
}
