/** Measures the wall time in which at least one of several overlapping pieces of work is running. */
export class OverlapClock {
  #running = 0
  #since = 0
  #total = 0

  /** Notes that a piece of work begins. @param now on the clock of `performance.now()`, in ms */
  enter (now: number): void {
    if (this.#running++ === 0) this.#since = now
  }

  leave (now: number): void {
    if (--this.#running === 0) this.#total += now - this.#since
  }

  /** The time measured so far, in ms. */
  read (now: number): number {
    return this.#running === 0 ? this.#total : this.#total + now - this.#since
  }
}
