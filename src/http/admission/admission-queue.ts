import { hasTurnToSpare, inTurn } from '../../runtime/fairness.ts'

/** For so long the wait must have been too long before anything is refused, in ms: a burst is over by then. */
const PATIENCE = 100

/** For so long after a refusal nothing is forgiven, in ms: an overload goes on, and would fill the queue again. */
const MEMORY = 1000

/** Refusals take this share of the time: a client that comes again at once cannot take more from the others. */
const REFUSAL_SHARE = 1 / 16

/** Beyond these the oldest are refused however long that takes. */
const MOST_WAITING = 2000

/** Of one turn in which arrivals are begun, in ms. */
const TURN_MILLISECONDS = 10
const MOST_PER_TURN = 100

/** Something that may have to wait before it is begun. */
export interface Arrival {
  begin (): void
  /** It has waited too long, and more comes than can be done. */
  refuse (): void
}

export interface AdmissionQueueOptions {
  /** How long an arrival may wait during an overload, in ms. */
  readonly limit: number
  /** In ms. */
  readonly now?: () => number
}

/**
 * Where requests wait while the process is busy with those that it has begun: here they have cost nothing yet. A queue is
 * there to be used, by bursts; what says that more comes than can be done is a wait that stays too long. From then on the
 * latest goes first, so that what is begun is answered in time, and whoever has waited too long is refused. After "Fail
 * at Scale", https://queue.acm.org/detail.cfm?id=2839461 (controlled delay, adaptive LIFO).
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

  /** Begins at once if nobody waits and this turn of the event loop has time left, else later. */
  enter (arrival: Arrival): void {
    if (this.#queue.length === 0 && hasTurnToSpare()) {
      beginCounted(arrival)
      return
    }
    this.#queue.push({ arrival, since: this.#now() })
    this.#schedule()
  }

  /** Between two immediates Node does all that one has led to: what is begun is as a rule finished before the next begins. */
  #schedule (): void {
    if (this.#turnIsDue) return
    this.#turnIsDue = true
    const isOverload = this.#isOverload()
    let begin = 0
    for (let place = 0; place < Math.min(this.#queue.length, MOST_PER_TURN); place++) {
      setImmediate(() => {
        if (place === 0) begin = this.#now()
        // What was begun earlier goes first; but however much that is, one begins in each turn.
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

/** What the turn has time for counts as its work. */
function beginCounted (arrival: Arrival): void {
  if (hasTurnToSpare()) void inTurn(() => { arrival.begin() })
  else arrival.begin()
}
