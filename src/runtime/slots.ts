import { type CallerSignal } from './caller-signal.ts'

/** Gives a slot back; calling it again does nothing. */
export type Release = () => void

/** Neither a slot nor a place in the queue is free, or the wait took too long. */
export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'
}

/** How many may run, and how many may wait for how long. */
export interface SlotLimits {
  readonly concurrency: number
  readonly queue: number
  /** In ms; left out, as long as the waiter stays. */
  readonly wait?: number
}

/**
 * A number of slots with a queue, first come, first served. The package p-limit is not used: it keeps the place of a waiter
 * who has left, and it knows only functions, not streams that go on after their function has returned.
 */
export class Slots {
  readonly #limits: SlotLimits
  // In order of arrival; a waiter who leaves is taken out at once.
  readonly #waiting = new Set<() => void>()
  #taken = 0

  constructor (limits: SlotLimits) {
    this.#limits = limits
  }

  /** Whether the next call would have to wait. */
  get isFull (): boolean {
    return this.#taken >= this.#limits.concurrency
  }

  /** How many wait. */
  get waiting (): number {
    return this.#waiting.size
  }

  /** @throws NoSlotError; the signal's reason when it aborts during the wait */
  async acquire (signal: CallerSignal): Promise<Release> {
    signal.throwIfAborted()
    // A slot that is given back goes directly to the first waiter. So no slot is free while somebody waits.
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
