import { hasTurnToSpare, inTurn } from '../../runtime/fairness.ts'

/** The time for which waits must stay above the limit before an arrival is refused, in ms: a mere burst is over by then. */
const PATIENCE = 100

/** The time after a refusal during which the overload is taken to last, in ms: else the queue would fill up again. */
const MEMORY = 1000

/** The share of the process's time for refusals: clients that retry at once cannot take more from the others. */
const REFUSAL_SHARE = 1 / 16

/** The most arrivals that may wait. Beyond that the oldest are refused, however much time refusals take. */
const MOST_WAITING = 2000

/** The longest time for which one turn of the event loop begins arrivals, in ms. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

/** A request that may have to wait in the queue before it is begun. */
export interface Arrival {
  begin (): void
  /** Refuses the request: it has waited too long while the process is overloaded. */
  refuse (): void
}

export interface AdmissionQueueOptions {
  /** How long an arrival may wait during an overload, in ms. */
  readonly limit: number
  /** The clock, in ms. */
  readonly now?: () => number
}

/**
 * The queue of requests that wait, at no cost yet, while the process is busy with earlier ones. A burst may fill the queue
 * for a moment; an overload shows by waits that stay too long. From then on the latest request goes first, so that begun
 * requests are answered in time, and requests that have waited too long are refused. The method is that of "Fail at
 * Scale", https://queue.acm.org/detail.cfm?id=2839461 (controlled delay, adaptive LIFO).
 */
export class AdmissionQueue {
  readonly #limit: number
  readonly #now: () => number
  readonly #queue: Array<{ readonly arrival: Arrival, readonly since: number }> = []
  #turnIsDue = false
  #turnEndedAt = 0
  #longSince: number | undefined
  #refusedAt = -Infinity

  constructor ({ limit, now = () => performance.now() }: AdmissionQueueOptions) {
    this.#limit = limit
    this.#now = now
  }

  /** Begins an arrival at once when no other waits and this turn of the event loop has time left; else the arrival waits. */
  enter (arrival: Arrival): void {
    if (this.#queue.length === 0 && hasTurnToSpare()) {
      beginCounted(arrival)
      return
    }
    this.#queue.push({ arrival, since: this.#now() })
    this.#schedule()
  }

  /**
   * Plans the next turn by `setImmediate`. Node does the work that one immediate has caused before it runs the next, so that
   * a begun request is mostly finished before the next one begins.
   */
  #schedule (): void {
    if (this.#turnIsDue) return
    this.#turnIsDue = true
    const isOverload = this.#isOverload()
    let begin = 0
    for (let place = 0; place < Math.min(this.#queue.length, MOST_PER_TURN); place++) {
      setImmediate(() => {
        if (place === 0) begin = this.#now()
        // Work of earlier requests goes first; but each turn begins at least one arrival, however much earlier work there is.
        if (place > 0 && (!hasTurnToSpare() || this.#now() - begin > TURN_MILLISECONDS)) return
        const next = isOverload ? this.#queue.pop() : this.#queue.shift()
        if (next !== undefined) beginCounted(next.arrival)
      })
    }
    setImmediate(() => {
      this.#turnIsDue = false
      if (isOverload) this.#refuseTheLate()
      this.#turnEndedAt = this.#now()
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  #isOverload (): boolean {
    const now = this.#now()
    if (now - (this.#queue[0]?.since ?? now) <= this.#limit) {
      this.#longSince = undefined
      return false
    }
    this.#longSince ??= now
    return now - this.#longSince >= PATIENCE || now - this.#refusedAt < MEMORY
  }

  #refuseTheLate (): void {
    const begin = this.#now()
    const end = begin + (begin - this.#turnEndedAt) * REFUSAL_SHARE
    for (let now = begin; now < end || this.#queue.length > MOST_WAITING; now = this.#now()) {
      const [oldest] = this.#queue
      if (oldest === undefined || now - oldest.since <= this.#limit) break
      this.#queue.shift()
      this.#refusedAt = now
      oldest.arrival.refuse()
    }
  }
}

/** Begins an arrival. While the turn has time left, the arrival counts as the turn's work. */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}
