/** What lasted at least so long, in ms, was a stream; what ended sooner counts as a failure. */
const STABLE = 5000

/** Before the next stream, in ms, doubled up to the limit for each further one that ended at once. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** Streams that may end at once before there is a delay: a reply may be resumed now and then. */
const FREE = 2

/**
 * How soon a stream may be opened again. The SDK waits for as long as the server says, and `retry: 1` is 1 ms: a server whose
 * streams end at once would be asked a thousand times a second.
 */
export class ReconnectPace {
  readonly #now: () => number
  #openedAt = -Infinity
  #failures = 0

  /** @param now a clock in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Gives how long to wait before the stream that is wanted now, in ms. From then on the stream counts as opened. */
  next (): number {
    const now = this.#now()
    this.#failures = now - this.#openedAt < STABLE ? this.#failures + 1 : 0
    const delay = this.#failures <= FREE ? 0 : Math.min(FIRST_DELAY * 2 ** (this.#failures - FREE - 1), MAX_DELAY)
    this.#openedAt = now + delay
    return delay
  }
}
