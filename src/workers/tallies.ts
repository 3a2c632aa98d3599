import { AggregatorRegistry } from 'prom-client'
import { type CollectedMetrics } from '../observe/metrics.ts'

/**
 * The latest metrics of each worker. A counter that Prometheus reads must never fall, or Prometheus concludes that the process was restarted. So
 * the counters of a dead worker are kept, and a worker that does not answer in time counts with its previous numbers.
 */
export class Tallies<Worker> {
  readonly #latest = new Map<Worker, CollectedMetrics>()
  #past: Promise<CollectedMetrics> = Promise.resolve([])

  take (worker: Worker, metrics: CollectedMetrics): void {
    this.#latest.set(worker, metrics)
  }

  /** Removes a worker that has died. Its counters are kept; its gauges are dropped, as they measured a process that is gone. */
  bury (worker: Worker): void {
    const latest = this.#latest.get(worker)
    this.#latest.delete(worker)
    if (latest === undefined) return
    const counters = latest.filter(({ type }) => (type as unknown) !== 'gauge')
    this.#past = this.#past.then(past => sumOf([past, counters]))
  }

  /** Gives the metrics of all workers but `worker`, including workers that have died. */
  async beside (worker: Worker): Promise<readonly CollectedMetrics[]> {
    const others = [...this.#latest].filter(([each]) => each !== worker).map(([, metrics]) => metrics)
    const past = await this.#past
    return past.length === 0 ? others : [...others, past]
  }
}

async function sumOf (all: readonly CollectedMetrics[]): Promise<CollectedMetrics> {
  return await AggregatorRegistry.aggregate(all as object[]).getMetricsAsJSON()
}
