import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { type ToolOutcome } from './outcome.ts'

/** The statistics of a tool's calls in this process, since the tool got its present registration. */
export interface ToolStatistics {
  readonly calls: number
  readonly cached: number
  readonly errors: number
  readonly lastError: { readonly code: string, readonly message: string, readonly at: string } | undefined
  /** The durations of the calls that the cache of results did not answer, failed ones too, in ms; `undefined` before the first such call. */
  readonly latency: { readonly mean: number, readonly p50: number, readonly p99: number, readonly max: number } | undefined
}

/** The longest duration that is recorded, in µs (ten minutes). With this limit and two significant digits, a tool's histogram takes about 20 KB. */
const LONGEST = 600_000_000

/** Counts the calls of one tool. */
export class StatisticsCounter {
  /** The histogram of durations, in µs. It is created for the first call, since most tools of a large registry are never called. */
  #latency: RecordableHistogram | undefined
  #calls = 0
  #cached = 0
  #errors = 0
  #lastError: ToolStatistics['lastError']

  count ({ outcome, error, durationMs }: ToolOutcome): void {
    this.#calls++
    if (outcome === 'cached') this.#cached++
    else this.#record(Math.min(Math.max(1, Math.round(durationMs * 1000)), LONGEST))
    if (error === undefined) return
    this.#errors++
    this.#lastError = { code: error.code, message: error.summary, at: new Date().toISOString() }
  }

  read (): ToolStatistics {
    return { calls: this.#calls, cached: this.#cached, errors: this.#errors, lastError: this.#lastError, latency: this.#read() }
  }

  #record (microseconds: number): void {
    this.#latency ??= createHistogram({ lowest: 1, highest: LONGEST, figures: 2 })
    this.#latency.record(microseconds)
  }

  #read (): ToolStatistics['latency'] {
    if (this.#latency === undefined) return undefined
    const milliseconds = (microseconds: number) => Math.round(microseconds) / 1000
    const { mean, max } = this.#latency
    return {
      mean: milliseconds(mean),
      p50: milliseconds(this.#latency.percentile(50)),
      p99: milliseconds(this.#latency.percentile(99)),
      max: milliseconds(max)
    }
  }
}
