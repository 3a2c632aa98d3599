/** A queue for a task that only one participant at a time is allowed to do. Participants are admitted in the order in which they asked. */
export class Mutex<T> {
  readonly #admit: (who: T) => void
  /** The participants in order. The first one has its turn now; the others wait. */
  #line: readonly T[] = []

  /** Makes an empty queue. @param admit called with the participant whose turn has come */
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
