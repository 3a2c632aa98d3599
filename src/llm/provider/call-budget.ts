import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { UpstreamError } from '../upstream-error.ts'

/**
 * What one call may take over all its attempts: it is used up when the caller leaves or the total time is over. Whoever
 * opens a budget ends it, so that neither timer nor listener outlives the call. Attempts watch it by a plain callback:
 * an AbortSignal, which costs as much as the rest of a call that goes well, is made only for a wait.
 */
export class CallBudget {
  readonly #caller: CallerSignal
  readonly #deadline: number
  readonly #timer: NodeJS.Timeout
  readonly #leave = () => this.#useUp(this.#caller.reason)
  #watcher: ((reason: unknown) => void) | undefined
  #controller: AbortController | undefined
  /** Why it is used up, once it is: the caller's reason, or an UpstreamError. */
  reason: unknown
  isUsedUp = false

  /** @param total in ms */
  constructor (caller: CallerSignal, total: number) {
    this.#caller = caller
    this.#deadline = performance.now() + total
    const milliseconds = Math.ceil(total)
    // A whole number: Node looks a timer's list up by its duration, and a fraction makes a property name of its own.
    this.#timer = setTimeout(() => this.#useUp(new UpstreamError(`no whole reply within ${milliseconds} ms`, { retryable: false })), milliseconds)
    if (caller.aborted) this.#leave()
    else caller.addEventListener('abort', this.#leave, { once: true })
  }

  /** Tells the attempt that runs when the budget is used up; there is one at a time, and `undefined` ends its watch. */
  watch (watcher: ((reason: unknown) => void) | undefined): void {
    this.#watcher = watcher
  }

  /** Aborts when the budget is used up. */
  signal (): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.isUsedUp) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  /** The time that is left, in ms. */
  remaining (): number {
    return this.#deadline - performance.now()
  }

  /** Whether the caller has left; what fails from then on is of no interest to anybody. */
  get callerLeft (): boolean {
    return this.#caller.aborted
  }

  end (): void {
    clearTimeout(this.#timer)
    this.#caller.removeEventListener('abort', this.#leave)
  }

  #useUp (reason: unknown): void {
    this.isUsedUp = true
    this.reason = reason
    this.#controller?.abort(reason)
    this.#watcher?.(reason)
  }
}
