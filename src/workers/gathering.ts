/** How long a worker may take to tell what it has counted, in ms: Prometheus waits 10 s. */
const PATIENCE = 2000

/** One question to several workers: over when all have told, or when those who have not are waited for no longer. */
export class Gathering {
  readonly #done: () => void
  readonly #timer: NodeJS.Timeout
  #missing: number

  /** @param expected how many are asked @param done called once */
  constructor (expected: number, done: () => void) {
    this.#missing = expected
    this.#done = done
    this.#timer = setTimeout(done, expected === 0 ? 0 : PATIENCE)
  }

  /** One has told. */
  take (): void {
    if (--this.#missing > 0) return
    clearTimeout(this.#timer)
    this.#done()
  }
}
