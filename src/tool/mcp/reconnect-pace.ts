/** How long a stream must last to count as a success, in ms. A stream that ends sooner counts as a failure. */
const STABLE = 5000

/** The delay before the next stream, in ms. It is doubled, up to the limit, for each further stream that ended at once. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** How many streams may end at once before there is a delay, because a reply may be resumed now and then. */
const FREE = 2

/**
 * Decides how soon a stream from an MCP server may be opened again. The SDK waits for as long as the server says, and `retry: 1` is 1 ms: a server
 * whose streams end at once would be asked a thousand times a second.
 */
export class ReconnectPace {
  readonly #now: () => number
  #openedAt = -Infinity
  #failures = 0

  /** @param now a clock in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** How long to wait before the stream that is wanted now, in ms. From then on the stream counts as opened. */
  next (): number {
    const now = this.#now()
    this.#failures = now - this.#openedAt < STABLE ? this.#failures + 1 : 0
    const delay = this.#failures <= FREE ? 0 : Math.min(FIRST_DELAY * 2 ** (this.#failures - FREE - 1), MAX_DELAY)
    this.#openedAt = now + delay
    return delay
  }
}
