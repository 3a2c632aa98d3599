/** A queue for something that only one may do at a time: those who wait are admitted in the order in which they asked. */
export class Mutex<T> {
  readonly #admit: (who: T) => void
  /** Those who wait, in order; the first of them is admitted. */
  #line: readonly T[] = []

  /** Makes an empty queue. @param admit called with the one whose turn has come */
  constructor (admit: (who: T) => void) {
    this.#admit = admit
  }

  enter (who: T): void {
    this.#line = [...this.#line, who]
    if (this.#line.length === 1) this.#admit(who)
  }

  /** Ends the turn of `who`, or removes `who` from the queue; does nothing if `who` is not in the queue. */
  leave (who: T): void {
    const [first] = this.#line
    this.#line = this.#line.filter(each => each !== who)
    const [next] = this.#line
    if (first === who && next !== undefined) this.#admit(next)
  }
}
