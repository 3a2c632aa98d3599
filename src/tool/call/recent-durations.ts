/** How many durations are kept, and for how long in ms. Old ones are dropped, so that a tool that was slow a while ago is tried again. */
const KEPT = 32
const MAX_AGE = 10_000

/** The least number of durations from which a conclusion is drawn. */
const LEAST = 5

/** How long the last calls of a tool have taken. */
export class RecentDurations {
  readonly #now: () => number
  #durations: ReadonlyArray<{ readonly at: number, readonly milliseconds: number }> = []

  /** @param now a clock in ms */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  add (milliseconds: number): void {
    this.#durations = [...this.#durations.slice(1 - KEPT), { at: this.#now(), milliseconds }]
  }

  /** The median and the least of the recent durations, in ms; `undefined` when there are too few. */
  read (): { readonly median: number, readonly fastest: number } | undefined {
    const since = this.#now() - MAX_AGE
    const recent = this.#durations.filter(({ at }) => at >= since).map(({ milliseconds }) => milliseconds).sort((a, b) => a - b)
    return recent.length < LEAST ? undefined : { median: recent[recent.length >> 1] as number, fastest: recent[0] as number }
  }
}
