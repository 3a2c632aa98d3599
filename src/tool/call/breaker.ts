import { type BreakerPolicy } from './policy.ts'

/** How an attempt to call a tool ended, as far as that tells whether the tool works. */
export type AttemptEnd = 'success' | 'failure' | 'unknown'

/** The state of a circuit breaker, as `GET /api/tools/{id}` shows it. */
export interface BreakerState {
  /** `closed`: calls are made. `open`: no call is made. `half-open`: one call finds out whether the tool works again. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** How many of the last calls have failed. */
  readonly failures: number
  readonly calls: number
}

/**
 * A circuit breaker: it stops the calls of a tool when too large a share of the last calls has failed, but only after a minimum number of calls, as
 * in Envoy and resilience4j. A few failures in a row are nothing unusual for a tool that is called a hundred times at once. The share is taken of at
 * most twice the minimum number of calls.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  /** How the last calls ended, the oldest first: `true` for a failure. */
  #ends: boolean[] = []
  #openedAt: number | undefined
  #isProbing = false

  /** @param now a clock in ms */
  constructor (policy: BreakerPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy
    this.#now = now
  }

  /** Begins an attempt to call the tool. @returns a function to call when the attempt has ended; `undefined` when the tool must not be called */
  begin (): ((end: AttemptEnd) => void) | undefined {
    if (this.#openedAt === undefined) return end => { this.#count(end) }
    if (this.#isProbing || this.#now() - this.#openedAt < this.#policy.coolDown) return undefined
    this.#isProbing = true
    return end => { this.#probed(end) }
  }

  state (): BreakerState {
    const isDue = this.#openedAt !== undefined && this.#now() - this.#openedAt >= this.#policy.coolDown
    return { state: this.#openedAt === undefined ? 'closed' : isDue ? 'half-open' : 'open', failures: this.#failures(), calls: this.#ends.length }
  }

  #count (end: AttemptEnd): void {
    // An attempt that ends after the breaker has opened had begun before. It says nothing that the next trial call will not show.
    if (end === 'unknown' || this.#openedAt !== undefined) return
    const { minimumCalls, failureRate } = this.#policy
    this.#ends = [...this.#ends, end === 'failure'].slice(-2 * minimumCalls)
    if (this.#ends.length >= minimumCalls && this.#failures() >= failureRate * this.#ends.length) this.#openedAt = this.#now()
  }

  #probed (end: AttemptEnd): void {
    this.#isProbing = false
    if (end === 'failure') this.#openedAt = this.#now()
    if (end !== 'success') return
    this.#openedAt = undefined
    this.#ends = []
  }

  #failures (): number {
    return this.#ends.filter(isFailure => isFailure).length
  }
}
