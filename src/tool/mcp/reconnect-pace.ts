/** The shortest life of a stream that counts as a success, in ms. A stream that ends sooner counts as a failure. */
const STABLE = 5000

/** The first delay, in ms, after one failure more than `FREE`. It doubles with each further failure, up to `MAX_DELAY`. */
const FIRST_DELAY = 500
const MAX_DELAY = 60_000

/** The most failures in a row after which the next stream is opened without a delay. A few are usual: a server can end a stream early. */
const FREE = 2

/**
 * Limits how often a stream to an MCP server is opened again. The SDK waits only as long as the server says. `retry: 1` is 1 ms, so the SDK
 * would send a thousand requests a second to a server whose streams end at once.
 */
export class ReconnectPace {
  readonly #now: () => number
  #openedAt = -Infinity
  #failures = 0

  /** Creates the pace of one server's streams. @param now the clock, in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The delay after which the caller has to open the next stream, in ms. The life of that stream counts from the end of the delay. */
  next (): number {
    const now = this.#now()
    this.#failures = now - this.#openedAt < STABLE ? this.#failures + 1 : 0
    const delay = this.#failures <= FREE ? 0 : Math.min(FIRST_DELAY * 2 ** (this.#failures - FREE - 1), MAX_DELAY)
    this.#openedAt = now + delay
    return delay
  }
}
