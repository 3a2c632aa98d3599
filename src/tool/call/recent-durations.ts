/** The most durations that are kept, and their largest age, in ms. Older ones do not count, so that a tool that was slow earlier is tried again. */
const KEPT = 32
const MAX_AGE = 10_000

/** The smallest number of durations that allow an estimate. */
const LEAST = 5

/** The durations of a tool's last successful calls. They serve to estimate how long the next call will take. */
export class RecentDurations {
  readonly #now: () => number
  #durations: ReadonlyArray<{ readonly at: number, readonly milliseconds: number }> = []

  /** Creates an empty list of durations. @param now the clock, in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  add (milliseconds: number): void {
    this.#durations = [...this.#durations.slice(1 - KEPT), { at: this.#now(), milliseconds }]
  }

  /** The median and the shortest of the recent durations, in ms; `undefined` when there are too few. */
  read (): { readonly median: number, readonly fastest: number } | undefined {
    const since = this.#now() - MAX_AGE
    const recent = this.#durations.filter(({ at }) => at >= since).map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
    return recent.length < LEAST ? undefined : { median: recent[recent.length >> 1] as number, fastest: recent[0] as number }
  }
}
