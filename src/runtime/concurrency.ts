import type { CallerSignal } from './deadline.ts'

/** Work that waits for the lock. `isAlone`: no other work is allowed to run at the same time. */
interface LockWaiter {
  readonly isAlone: boolean
  enter (): void
}

/**
 * A readers-writer lock. It runs two kinds of work: shared work, of which several pieces can run at the same time, and work that must run alone. All
 * work begins in the order in which it asked for the lock.
 */
export class SharedLock {
  readonly #queue = new Set<LockWaiter>()
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

/** Gives a slot back. Calling it again does nothing. */
export type ReleaseSlot = () => void

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
  async acquire (signal: CallerSignal): Promise<ReleaseSlot> {
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

  #releaseOnce (): ReleaseSlot {
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

/** Work that is asked for often, and of which never two runs overlap. */
interface OneAtATime {
  /** Runs the work: at once or, if a run is under way, once more after it. All calls that come during a run share this one further run. */
  run (): Promise<void>
  isRunning (): boolean
  /** Settles when all runs that have been asked for until now have ended. */
  idle (): Promise<void>
}

/** Makes work run one at a time. @param work must not reject, since possibly nobody waits for its end */
export function oneAtATime (work: () => Promise<void>): OneAtATime {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  function run (): Promise<void> {
    if (running === undefined) {
      running = work().finally(() => { running = undefined })
      return running
    }
    next ??= running.then(() => {
      next = undefined
      return run()
    })
    return next
  }

  return {
    run,
    isRunning: () => running !== undefined,
    async idle () {
      await (next ?? running)
    }
  }
}

/** Runs work when it is requested, but begins it at most once in an interval. */
interface Throttle {
  /** Begins the work now, or as soon as the interval is over. Several requests during an interval count as one. */
  request (): void
  /** Ends the throttle: the work never begins again. */
  stop (): void
}

/** Makes a throttle. @param interval the least time between two beginnings of the work, in ms */
export function createThrottle (work: () => void, interval: number): Throttle {
  let timer: NodeJS.Timeout | undefined
  let isWanted = false
  let isStopped = false

  function begin (): void {
    isWanted = false
    timer = setTimeout(() => {
      timer = undefined
      if (isWanted) begin()
    }, interval).unref()
    work()
  }

  return {
    request () {
      if (isStopped) return
      if (timer === undefined) begin()
      else isWanted = true
    },
    stop () {
      isStopped = true
      clearTimeout(timer)
    }
  }
}
