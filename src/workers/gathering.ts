/** The longest wait for the metrics of all worker processes, in ms. It is short, since Prometheus waits only 10 s for the whole answer. */
const PATIENCE = 2000

/** Waits for the answers of several workers to one question. The wait is over when all have answered, or after `PATIENCE` ms. */
export class Gathering {
  readonly #done: () => void
  readonly #timer: NodeJS.Timeout
  #missing: number

  /** Begins to wait for the answers. @param expected how many workers were asked @param done called once, when the wait is over */
  constructor (expected: number, done: () => void) {
    this.#missing = expected
    this.#done = done
    this.#timer = setTimeout(done, expected === 0 ? 0 : PATIENCE)
  }

  /** Notes the answer of one worker. */
  take (): void {
    if (--this.#missing > 0) return
    clearTimeout(this.#timer)
    this.#done()
  }
}
