import { hasTurnToSpare, inTurn } from '../../runtime/fairness.ts'

/**
 * The process counts as overloaded when, for this time (in ms), the oldest request in the queue has always been one that had waited longer
 * than the queue's `limit`. A short burst of requests is over by then.
 */
const PATIENCE = 100

/**
 * The time after a refusal, in ms, during which the process counts as overloaded as soon as a request has waited longer than the queue's
 * `limit`, without the delay of `PATIENCE`. Otherwise the queue would fill up again during that delay.
 */
const MEMORY = 1000

/** The share of the process's time that refusals may take, so that clients which send refused requests again at once do not slow down the others. */
const REFUSAL_SHARE = 1 / 16

/**
 * The most requests that wait during an overload. While there are more, the oldest are refused even if refusals then take more time than
 * `REFUSAL_SHARE` allows. A request that has not waited longer than the queue's `limit` is never refused.
 */
const MOST_WAITING = 2000

/** For how long one turn of the event loop begins requests from the queue, in ms, and how many requests it begins at most. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

/** A request that may have to wait in the queue before it is begun. */
export interface Arrival {
  begin (): void
  /** Refuses the request: it has waited too long while the process is overloaded. */
  refuse (): void
}

export interface AdmissionQueueOptions {
  /** The longest time that a request waits during an overload before it is refused, in ms. */
  readonly limit: number
  /** Gives the current time, in ms; left out for `performance.now()`. */
  readonly now?: () => number
}

/**
 * The queue of requests (arrivals) that were not begun yet, because the process is busy with earlier ones. A burst may fill the queue for a
 * moment. When waits stay too long (see `PATIENCE`), the process counts as overloaded: then the latest request goes first, so that the requests that are
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
   * Lets the next turn of the event loop begin requests from the queue, each in a `setImmediate` of its own. Node does the work that one
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
        // Requests that were begun earlier may still have work to do, which goes first. But each turn begins at least one request from the queue.
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

/**
 * Begins a request. Its time counts towards the time that long work is allowed to take in this turn of the event loop; if no time is left,
 * the request begins all the same.
 */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}
