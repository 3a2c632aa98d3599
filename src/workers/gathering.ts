import { type CollectedMetrics } from '../observe/metrics.ts'

/** How long a worker may take to tell what it has counted, in ms: Prometheus waits 10 s. */
const PATIENCE = 2000

/** One question to several workers: answered when all have told, or when those who have not are waited for no longer. */
export class Gathering {
  readonly #told: CollectedMetrics[] = []
  readonly #done: (metrics: readonly CollectedMetrics[]) => void
  readonly #timer: NodeJS.Timeout
  #missing: number

  /** @param expected how many are asked @param done called once */
  constructor (expected: number, done: (metrics: readonly CollectedMetrics[]) => void) {
    this.#missing = expected
    this.#done = done
    this.#timer = setTimeout(() => { this.#finish() }, expected === 0 ? 0 : PATIENCE)
  }

  take (metrics: CollectedMetrics): void {
    this.#told.push(metrics)
    if (--this.#missing === 0) this.#finish()
  }

  #finish (): void {
    clearTimeout(this.#timer)
    this.#done(this.#told)
  }
}
