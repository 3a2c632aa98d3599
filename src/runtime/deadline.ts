import { type CallerSignal, LightSignal, toAbortSignal } from './caller-signal.ts'

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
