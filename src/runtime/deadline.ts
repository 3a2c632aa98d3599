/** Rejects with the signal's reason as soon as it aborts, even if the work goes on. */
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

export function toAbortSignal (signal: CallerSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  if (signal.aborted) return AbortSignal.abort(signal.reason)
  const controller = new AbortController()
  signal.addEventListener('abort', () => { controller.abort(signal.reason) }, { once: true })
  return controller.signal
}

/** Controller and signal in one: every request needs one, and an AbortController with a listener takes many times as long. */
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

  abort (reason: unknown): void {
    if (this.#aborted) return
    this.#aborted = true
    this.#reason = reason
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}

/** One object for all deadlines of a kind, because every render makes a deadline. */
export interface DeadlineReasons {
  expired (milliseconds: number): Error
  left (caller: CallerSignal): unknown
}

const PLAIN: DeadlineReasons = {
  expired: milliseconds => new DOMException(`not done within ${milliseconds} ms`, 'TimeoutError'),
  left: caller => caller.reason
}

// Made once: an abort without a reason makes an error with a stack, which costs as much as a short render.
const OVER = new DOMException('the work is over', 'AbortError')

export function timeLimit (signal: AbortSignal | undefined, milliseconds: number): AbortSignal {
  const limit = new AbortController()
  // The timer keeps the controller in memory. An AbortSignal.timeout inside of AbortSignal.any is kept by nothing: the garbage collector of Node 20 and
  // 22 can remove it too early, and then the signal never aborts (https://github.com/nodejs/node/issues/57736).
  setTimeout(() => { limit.abort(PLAIN.expired(milliseconds)) }, milliseconds).unref()
  return signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])
}

/** Makes timer and listener only when `signal` is first read, since most renders never wait. Whoever makes a deadline must call `end`. */
export class Deadline {
  /** On the clock of `performance.now()`, in ms. */
  readonly at: number
  /** In ms. */
  readonly timeout: number
  readonly #caller: CallerSignal | undefined
  readonly #reasons: DeadlineReasons
  #signal: LightSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #leave: (() => void) | undefined

  /** `timeout` in ms, `Infinity` for none; `since` on the clock of `performance.now()`. */
  constructor (timeout: number, since = performance.now(), caller?: CallerSignal, reasons = PLAIN) {
    this.timeout = timeout
    this.at = since + timeout
    this.#caller = caller
    this.#reasons = reasons
  }

  get signal (): CallerSignal {
    return this.#signal ?? this.#start()
  }

  toAbortSignal (): AbortSignal {
    return toAbortSignal(this.signal)
  }

  /** In ms; negative after the end. */
  remaining (): number {
    return this.at - performance.now()
  }

  end (): void {
    clearTimeout(this.#timer)
    if (this.#leave !== undefined) this.#caller?.removeEventListener('abort', this.#leave)
  }

  /** As `end`, and aborts the signal for whatever still listens to it. */
  abandon (): void {
    this.end()
    this.#signal?.abort(OVER)
  }

  #start (): LightSignal {
    const signal = this.#signal = new LightSignal()
    const caller = this.#caller
    // A whole number, because Node keeps a list of timers for each duration.
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
