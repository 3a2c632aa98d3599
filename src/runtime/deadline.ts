import { type CallerSignal, LightSignal, toAbortSignal } from './caller-signal.ts'

/** Why the signal of a deadline aborts. All deadlines of a kind share one object, since every render makes a deadline. */
export interface DeadlineReasons {
  /** @param milliseconds the whole time, rounded up */
  expired (milliseconds: number): Error
  /** What stands for the caller's own reason when the caller leaves. */
  left (caller: CallerSignal): unknown
}

/** As `AbortSignal.timeout` and `AbortSignal.any` have them. */
const PLAIN: DeadlineReasons = {
  expired: milliseconds => new DOMException(`not done within ${milliseconds} ms`, 'TimeoutError'),
  left: caller => caller.reason
}

// The reason is made once. An abort without a reason makes an error with a stack each time, which costs as much as a short
// render.
const OVER = new DOMException('the work is over', 'AbortError')

/** Aborts when the signal does, and when the time is over. @param milliseconds from now on */
export function timeLimit (signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = new AbortController()
  // The timer keeps the controller: of AbortSignal.timeout in AbortSignal.any nothing keeps the signal, and Node 20 and 22 may collect it
  // before its time, so that nothing ever ends (https://github.com/nodejs/node/issues/57736).
  setTimeout(() => { limit.abort(PLAIN.expired(milliseconds)) }, milliseconds).unref()
  return AbortSignal.any([signal, limit.signal])
}

/**
 * The end of some work: when its time is over, or when its caller leaves. The timer and the listener are made when something
 * first asks for the signal, since most renders never wait. Whoever makes a deadline must end it, so that timer and listener
 * do not outlive the work.
 */
export class Deadline {
  /** On the clock of `performance.now()`, in ms. */
  readonly at: number
  /** The whole time, in ms. */
  readonly timeout: number
  readonly #caller: CallerSignal | undefined
  readonly #reasons: DeadlineReasons
  #signal: LightSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #leave: (() => void) | undefined

  /**
   * @param timeout in ms; `Infinity` for as long as the caller waits
   * @param since where the timeout counts from, on the clock of `performance.now()`
   */
  constructor (timeout: number, since = performance.now(), caller?: CallerSignal, reasons = PLAIN) {
    this.timeout = timeout
    this.at = since + timeout
    this.#caller = caller
    this.#reasons = reasons
  }

  /** Aborts when the time is over, or the caller has left. */
  get signal (): CallerSignal {
    return this.#signal ?? this.#start()
  }

  /** The same, for whoever takes nothing else. Every call makes another one. */
  toAbortSignal (): AbortSignal {
    return toAbortSignal(this.signal)
  }

  /** The time that is left, in ms. */
  remaining (): number {
    return this.at - performance.now()
  }

  /** Ends timer and listener, when the work has settled. */
  end (): void {
    clearTimeout(this.#timer)
    if (this.#leave !== undefined) this.#caller?.removeEventListener('abort', this.#leave)
  }

  /** Does that, and aborts the signal for whatever still listens to it: nobody waits any more. */
  abandon (): void {
    this.end()
    this.#signal?.abort(OVER)
  }

  #start (): LightSignal {
    const signal = this.#signal = new LightSignal()
    const caller = this.#caller
    // The delay is a whole number. Node keeps timers in lists by their duration, and a fraction would make a list of its own.
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
