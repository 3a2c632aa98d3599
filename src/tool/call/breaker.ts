import { type BreakerPolicy } from './policy.ts'

/**
 * How a call of a tool ended after its retries, as the circuit breaker counts it. `failure`: a temporary failure. `unknown`: an end that tells
 * nothing about the tool. `success`: any other end, even with an error that the same call would get again.
 */
export type AttemptEnd = 'success' | 'failure' | 'unknown'

/** The state of a tool's circuit breaker, as `GET /api/tools/{id}` shows it. */
export interface BreakerState {
  /** The state. `closed`: calls are made. `open`: no call is made. `half-open`: one call is made, to find out whether the tool works again. */
  readonly state: 'closed' | 'open' | 'half-open'
  /** The number of failures among the last calls. */
  readonly failures: number
  readonly calls: number
}

/**
 * A circuit breaker stops calls to a tool that mostly fails, for some time. It opens when the share of failures in the last calls is too
 * large, as in Envoy and resilience4j: a few failures in a row are usual for a tool that gets a hundred calls at once. The share is computed
 * from at least `minimumCalls` of the last calls, and from at most twice as many.
 */
export class Breaker {
  readonly #policy: BreakerPolicy
  readonly #now: () => number
  /** How the last calls of the tool ended, the oldest first: true for a failure. */
  #ends: boolean[] = []
  #openedAt: number | undefined
  #isProbing = false

  /** Creates a closed breaker. @param now the clock, in ms */
  constructor (policy: BreakerPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy
    this.#now = now
  }

  /** Begins a call, if the breaker allows it. @returns a function to run when the call has ended; `undefined` when the tool must not be called */
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
    // If the breaker opened while this call was running, the call is not counted: the call that probes the tool after the cool-down tells more.
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
