import { UpstreamError } from './upstream-error.ts'

/**
 * What one call may take over all its attempts: its signal aborts when the caller leaves or the total time is up. Whoever
 * opens a budget ends it, so that neither timer nor listener outlives the call.
 */
export class CallBudget {
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal
  readonly #deadline: number
  readonly #timer: NodeJS.Timeout
  readonly #leave = () => this.#controller.abort(this.#caller.reason)

  /** @param total in ms */
  constructor (caller: AbortSignal, total: number) {
    this.#caller = caller
    this.#deadline = performance.now() + total
    this.#timer = setTimeout(() => this.#controller.abort(new UpstreamError(`no whole reply within ${Math.ceil(total)} ms`, { retryable: false })), total)
    if (caller.aborted) this.#leave()
    else caller.addEventListener('abort', this.#leave, { once: true })
  }

  get signal (): AbortSignal {
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
}
