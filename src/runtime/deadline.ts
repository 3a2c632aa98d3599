/** Gives a promise that settles as `work` does, but rejects with the signal's reason as soon as the signal aborts, even if the work goes on. */
export function untilAborted<T> (signal: CallerSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      const reason = signal.reason as Error
      reject(reason)
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const settle = <A>(end: (outcome: A) => void) => (outcome: A) => {
      signal.removeEventListener('abort', abort)
      end(outcome)
    }
    work.then(settle(resolve), settle(reject))
  })
}

/** A signal that tells whether the caller still waits for an answer. Every AbortSignal and every `LightSignal` is one. */
export interface CallerSignal {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted (): void
  addEventListener (type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/** Turns a caller's signal into an AbortSignal, for code that accepts nothing else. */
export function toAbortSignal (signal: CallerSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  if (signal.aborted) return AbortSignal.abort(signal.reason)
  const controller = new AbortController()
  signal.addEventListener('abort', () => { controller.abort(signal.reason) }, { once: true })
  return controller.signal
}

/**
 * A controller and its signal in one object. Every request needs such a signal, although it hardly ever aborts. To make an AbortController with a
 * listener instead would take many times as long.
 */
export class LightSignal implements CallerSignal {
  #aborted = false
  #reason: unknown
  #listeners: Set<() => void> | undefined

  get aborted (): boolean {
    return this.#aborted
  }

  get reason (): unknown {
    return this.#reason
  }

  throwIfAborted (): void {
    if (this.#aborted) throw this.#reason
  }

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  /** Calls every listener. Further calls do nothing. */
  abort (reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}

/** Makes the reasons with which the signal of a deadline aborts. All deadlines of a kind share one such object, because every render makes a deadline. */
export interface DeadlineReasons {
  /** The reason when the time is over. @param milliseconds the whole time, rounded up */
  expired (milliseconds: number): Error
  /** The reason when the caller leaves, made from the reason of the caller's own signal. */
  left (caller: CallerSignal): unknown
}

/** The default reasons, which are those of `AbortSignal.timeout` and `AbortSignal.any`. */
const PLAIN: DeadlineReasons = {
  expired: milliseconds => new DOMException(`not done within ${milliseconds} ms`, 'TimeoutError'),
  left: caller => caller.reason
}

// This reason is made once. An abort without a reason would make an error with a stack each time, which costs as much as a short render.
const OVER = new DOMException('the work is over', 'AbortError')

/** Makes a signal that aborts when `signal` does, or when the time is over. @param milliseconds the time from now on */
export function timeLimit (signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = new AbortController()
  // The timer keeps the controller in memory. An AbortSignal.timeout inside of AbortSignal.any is kept by nothing: the garbage collector of Node 20 and
  // 22 can remove it too early, and then the signal never aborts (https://github.com/nodejs/node/issues/57736).
  setTimeout(() => { limit.abort(PLAIN.expired(milliseconds)) }, milliseconds).unref()
  return AbortSignal.any([signal, limit.signal])
}

/**
 * Ends work early: when its time is over, or when its caller leaves. The timer and the listener are made only when `signal` is first read, since most
 * renders never wait. Whoever makes a deadline must call `end`, so that timer and listener do not outlive the work.
 */
export class Deadline {
  /** The time at which the work must end, on the clock of `performance.now()`, in ms. */
  readonly at: number
  /** The longest time for the work from its beginning, in ms. */
  readonly timeout: number
  readonly #caller: CallerSignal | undefined
  readonly #reasons: DeadlineReasons
  #signal: LightSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #leave: (() => void) | undefined

  /**
   * @param timeout in ms; `Infinity` for as long as the caller waits
   * @param since when the timeout begins, on the clock of `performance.now()`
   * @param caller the signal that aborts when the caller leaves
   */
  constructor (timeout: number, since = performance.now(), caller?: CallerSignal, reasons = PLAIN) {
    this.timeout = timeout
    this.at = since + timeout
    this.#caller = caller
    this.#reasons = reasons
  }

  /** The signal that aborts when the time is over or the caller has left. */
  get signal (): CallerSignal {
    return this.#signal ?? this.#start()
  }

  /** The signal of the deadline as an AbortSignal, for code that accepts nothing else. Every call makes a new one. */
  toAbortSignal (): AbortSignal {
    return toAbortSignal(this.signal)
  }

  /** The time from now until the work must end, in ms; negative after that. */
  remaining (): number {
    return this.at - performance.now()
  }

  /** Removes the timer and the listener, because the work is done. */
  end (): void {
    clearTimeout(this.#timer)
    if (this.#leave !== undefined) this.#caller?.removeEventListener('abort', this.#leave)
  }

  /** Removes the timer and the listener, and aborts the signal for whatever still listens to it, because nobody waits for the work any more. */
  abandon (): void {
    this.end()
    this.#signal?.abort(OVER)
  }

  #start (): LightSignal {
    const signal = this.#signal = new LightSignal()
    const caller = this.#caller
    // The delay is a whole number, because Node keeps timers in lists by their duration, and a fraction would make a list of its own.
    if (this.timeout !== Infinity) {
      this.#timer = setTimeout(
        () => {
          signal.abort(this.#reasons.expired(Math.ceil(this.timeout)))
        },
        Math.ceil(Math.max(0, this.remaining()))
      )
    }
    if (caller !== undefined) {
      const leave = this.#leave = () => { signal.abort(this.#reasons.left(caller)) }
      if (caller.aborted) leave()
      else caller.addEventListener('abort', leave, { once: true })
    }
    return signal
  }
}
