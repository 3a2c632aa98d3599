import { type CallerSignal, LightSignal } from '../../runtime/caller-signal.ts'
import { UpstreamError } from '../upstream-error.ts'

/**
 * What one call may take over all its attempts: it is used up when the caller leaves or the total time is over. Whoever
 * opens a budget ends it, so that neither timer nor listener outlives the call.
 */
export class CallBudget {
  readonly #caller: CallerSignal
  readonly #signal = new LightSignal()
  readonly #deadline: number
  readonly #timer: NodeJS.Timeout
  readonly #leave = () => this.#signal.abort(this.#caller.reason)

  /** @param total in ms */
  constructor (caller: CallerSignal, total: number) {
    this.#caller = caller
    this.#deadline = performance.now() + total
    const milliseconds = Math.ceil(total)
    // A whole number: Node looks a timer's list up by its duration, and a fraction makes a property name of its own.
    this.#timer = setTimeout(() => this.#signal.abort(new UpstreamError(`no whole reply within ${milliseconds} ms`, { retryable: false })), milliseconds)
    if (caller.aborted) this.#leave()
    else caller.addEventListener('abort', this.#leave, { once: true })
  }

  /** Aborts when the budget is used up, with the caller's reason or an UpstreamError. */
  get signal (): CallerSignal {
    return this.#signal
  }

  /** The time that is left, in ms. */
  remaining (): number {
    return this.#deadline - performance.now()
  }

  end (): void {
    clearTimeout(this.#timer)
    this.#caller.removeEventListener('abort', this.#leave)
  }
}
