import { AggregatorRegistry } from 'prom-client'
import { type CollectedMetrics } from '../observe/metrics.ts'

/**
 * What workers have counted, as they told it last. A counter that is scraped must never fall, or Prometheus takes all that
 * is left of it for new: so those of a worker that has died are kept, and one that does not answer in time counts as before.
 */
export class Tallies<Worker> {
  readonly #latest = new Map<Worker, CollectedMetrics>()
  #past: Promise<CollectedMetrics> = Promise.resolve([])

  take (worker: Worker, metrics: CollectedMetrics): void {
    this.#latest.set(worker, metrics)
  }

  /** A worker is gone: its counters stay, its gauges tell of nothing any more. */
  bury (worker: Worker): void {
    const latest = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (latest === undefined) return
    const counters = latest.filter(({ type }) => (type as unknown) !== 'gauge')
    this.#past = this.#past.then(past => sumOf([past, counters]))
  }

  /** What all others have counted, the dead among them. */
  async beside (worker: Worker): Promise<readonly CollectedMetrics[]> {
    const others = [...this.#latest].filter(([each]) => each !== worker).map(([, metrics]) => metrics)
    const past = await this.#past
    return past.length === 0 ? others : [...others, past]
  }
}

async function sumOf (all: readonly CollectedMetrics[]): Promise<CollectedMetrics> {
  return await AggregatorRegistry.aggregate(all as object[]).getMetricsAsJSON()
}
