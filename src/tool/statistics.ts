import { createHistogram } from 'node:perf_hooks'
import { type ToolOutcome } from './outcome.ts'

/** What calling a tool has been like since the service started. */
export interface ToolStatistics {
  readonly calls: number
  readonly cached: number
  readonly errors: number
  readonly lastError: { readonly code: string, readonly message: string, readonly at: string } | undefined
  /** Of calls that were made, failed ones too, in ms. */
  readonly latency: { readonly mean: number, readonly p50: number, readonly p99: number, readonly max: number } | undefined
}

/** Counts the calls of one tool. */
export class StatisticsCounter {
  readonly #latency = createHistogram()
  #calls = 0
  #cached = 0
  #errors = 0
  #lastError: ToolStatistics['lastError']

  count ({ outcome, error, durationMs }: ToolOutcome): void {
    this.#calls++
    if (outcome === 'cached') this.#cached++
    else this.#latency.record(Math.max(1, Math.round(durationMs * 1000)))
    if (error === undefined) return
    this.#errors++
    this.#lastError = { code: error.code, message: error.message, at: new Date().toISOString() }
  }

  read (): ToolStatistics {
    return { calls: this.#calls, cached: this.#cached, errors: this.#errors, lastError: this.#lastError, latency: this.#read() }
  }

  #read (): ToolStatistics['latency'] {
    if (this.#latency.count === 0) return undefined
    const milliseconds = (microseconds: number) => Math.round(microseconds) / 1000
    const { mean, max } = this.#latency
    return { mean: milliseconds(mean), p50: milliseconds(this.#latency.percentile(50)), p99: milliseconds(this.#latency.percentile(99)), max: milliseconds(max) }
  }
}
