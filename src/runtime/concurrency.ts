import type { CallerSignal } from './deadline.ts'

/** A readers-writer lock; all work begins in the order in which it asked. */
export class SharedLock {
  readonly #queue = new Set<{ readonly isAlone: boolean, enter (): void }>()
  #inside = 0
  #isAlone = false

  /** @throws the signal's reason */
  async beside<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return await this.#within(false, signal, work)
  }

  /** @throws the signal's reason */
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

/** Work of the same key runs one after the other, in the order in which it asked. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T> (id: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(id) ?? Promise.resolve()).then(work, work)
    this.#last.set(id, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(id) === turn) this.#last.delete(id)
    }
  }

  /** Waits for the work that has begun or stands in a queue now. */
  async idle (): Promise<void> {
    await Promise.allSettled(this.#last.values())
  }
}

/** Compare-and-set: `attempt` reads, and writes what follows; `undefined` says that another writer was faster, and so does the result after `most`. */
export async function retryChange<T> (most: number, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let count = 0; count < most; count++) {
    const done = await attempt()
    if (done !== undefined) return done
  }
  return undefined
}

/** Calling it again does nothing. */
export type ReleaseSlot = () => void

export class NoSlotError extends Error {
  override readonly name = 'NoSlotError'
}

export interface SlotLimits {
  readonly concurrency: number
  readonly queue: number
  /** In ms; without it, a call waits until it gets a slot or its caller gives up. */
  readonly wait?: number
}

/** A semaphore, first come, first served. p-limit would keep callers who left, and knows no streams that outlive their function. */
export class Slots {
  readonly #limits: SlotLimits
  readonly #waiting = new Set<{ readonly slots: number, enter (): void }>()
  #taken = 0

  constructor (limits: SlotLimits) {
    this.#limits = limits
  }

  get isFull (): boolean {
    return this.#taken >= this.#limits.concurrency
  }

  get waiting (): number {
    return this.#waiting.size
  }

  /** @throws NoSlotError; the signal's reason when it aborts during the wait */
  async acquire (signal: CallerSignal): Promise<ReleaseSlot> {
    signal.throwIfAborted()
    if (!this.tryTake(1)) await this.wait(signal, 1)
    let isHeld = true
    return () => {
      if (isHeld) this.free(1)
      isHeld = false
    }
  }

  /** Whoever has taken some slots must `free` as many. */
  tryTake (slots: number): boolean {
    if (this.#taken + slots > this.#limits.concurrency) return false
    this.#taken += slots
    return true
  }

  free (slots: number): void {
    this.#taken -= slots
    for (const { slots: wanted, enter } of this.#waiting) {
      if (this.isFull) return
      if (this.tryTake(wanted)) enter()
    }
  }

  /** Until so many are taken; who waits for fewer may be served before. Throws as `acquire` does. */
  wait (signal: CallerSignal, slots: number): Promise<void> {
    const { queue, wait } = this.#limits
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      if (this.#waiting.size >= queue) throw new NoSlotError('the queue is full')
      const settle = (outcome: () => void) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.#waiting.delete(waiting)
        outcome()
      }
      const waiting = { slots, enter: () => settle(resolve) }
      const leave = () => settle(() => reject(signal.reason))
      const timer = wait === undefined ? undefined : setTimeout(() => settle(() => reject(new NoSlotError(`no slot within ${wait} ms`))), wait)
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiting)
    })
  }
}

/** Calls of `run` during a run share one further run. `work` must not reject, since possibly nobody waits for its end. */
export function oneAtATime (work: () => Promise<void>) {
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

/** Several requests during an `interval` (in ms) count as one. */
export function createThrottle (work: () => void, interval: number) {
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
