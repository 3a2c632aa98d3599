/** The shortest life of a stream that counts as a success, in ms. A stream that ends sooner counts as a failure. */
const STABLE = 5000

/** The delay after the first failure that is delayed, in ms; it doubles with each further failure, up to the limit. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** The number of failures without a delay: a reply may be resumed now and then. */
const FREE = 2

/**
 * The pace at which a stream to an MCP server may be opened again. The SDK waits as long as the server says, and `retry: 1` is 1 ms, so a
 * server whose streams end at once would be asked a thousand times a second.
 */
export class ReconnectPace {
  readonly #now: () => number
  #openedAt = -Infinity
  #failures = 0

  /** Creates the pace of one server's streams. @param now the clock, in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The delay before the next stream is opened, in ms. This call counts that stream as opened at the end of the delay. */
  next (): number {
    const now = this.#now()
    this.#failures = now - this.#openedAt < STABLE ? this.#failures + 1 : 0
    const delay = this.#failures <= FREE ? 0 : Math.min(FIRST_DELAY * 2 ** (this.#failures - FREE - 1), MAX_DELAY)
    this.#openedAt = now + delay
    return delay
  }
}
