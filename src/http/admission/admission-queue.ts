import { hasTurnToSpare, inTurn } from '../../runtime/fairness.ts'

/**
 * How long the wait of the oldest arrival must stay above `limit` until the process counts as overloaded, in ms. A short burst of requests
 * is over by then.
 */
const PATIENCE = 100

/**
 * How long after a refusal a wait above `limit` counts as an overload at once, without `PATIENCE`, in ms. Otherwise the queue would fill up
 * again.
 */
const MEMORY = 1000

/** The share of the process's time that refusals may take, so that clients which send refused requests again at once do not slow down the others. */
const REFUSAL_SHARE = 1 / 16

/**
 * How many arrivals may wait during an overload before the oldest are refused even if refusals then take more than `REFUSAL_SHARE`. An
 * arrival that has not waited longer than `limit` is never refused.
 */
const MOST_WAITING = 2000

/** The time after which one turn of the event loop begins no more arrivals, in ms, and the most arrivals that one turn begins. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

/** A request that may have to wait in the queue before it is begun. */
export interface Arrival {
  begin (): void
  /** Refuses the request: it has waited too long while the process is overloaded. */
  refuse (): void
}

export interface AdmissionQueueOptions {
  /** How long an arrival may wait during an overload before it is refused, in ms. */
  readonly limit: number
  /** The clock, in ms. */
  readonly now?: () => number
}

/**
 * The queue of requests (arrivals) that were not begun yet, because the process is busy with earlier ones. A burst may fill the queue for a
 * moment. When waits stay too long, the process counts as overloaded: then the latest request goes first, so that the requests that are
 * begun are answered in time, and requests that have waited too long are refused. The method is that of "Fail at Scale",
 * https://queue.acm.org/detail.cfm?id=2839461 (controlled delay, adaptive LIFO).
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

  /** Starts to handle a request that has arrived: at once when no other waits and this turn of the event loop has time left, else later. */
  enter (arrival: Arrival): void {
    if (this.#queue.length === 0 && hasTurnToSpare()) {
      beginCounted(arrival)
      return
    }
    this.#queue.push({ arrival, since: this.#now() })
    this.#schedule()
  }

  /**
   * Plans to begin waiting arrivals in the next turn of the event loop, each by a `setImmediate` of its own. Node does the work that one
   * immediate has caused before it runs the next, so that a begun request is mostly finished before the next one begins.
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

/** Begins an arrival, and counts the time that this takes as work of this turn of the event loop, unless the turn has no time left. */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}
