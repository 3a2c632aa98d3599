import { type BreakerPolicy } from './policy.ts'

/** How an attempt ended, as far as it tells about the tool. */
export type AttemptEnd = 'success' | 'failure' | 'unknown'

/** What `GET /api/tools/{id}` shows of a breaker. */
export interface BreakerState {
  /** `closed`: calls are made. `open`: no call is made. `half-open`: one call finds out whether the tool works again. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** Of the last calls, how many failed. */
  readonly failures: number
  readonly calls: number
}

/**
 * A circuit breaker over a failure rate with a minimum volume, as Envoy and resilience4j have it. A few failures in a row are
 * nothing unusual for a tool that is called a hundred times at once. The rate is that of the last calls, twice as many as the
 * minimum.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  /** The last ends, the oldest first: whether they were failures. */
  #ends: boolean[] = []
  #openedAt: number | undefined
  #isProbing = false

  /** @param now a clock in ms */
  constructor (policy: BreakerPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy
    this.#now = now
  }

  /**
   * Begins an attempt.
   * @returns a function to call when the attempt has ended; `undefined` when the tool must not be called
   */
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
    // An attempt that ends after the breaker has opened began before that. It tells nothing that the next probe does not
    // tell.
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
