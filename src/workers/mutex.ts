/** Lets one in at a time, in the order in which they ask. */
export class Mutex<T> {
  readonly #admit: (who: T) => void
  /** The first is in. */
  #line: readonly T[] = []

  /** @param admit called when somebody's turn has come */
  constructor (admit: (who: T) => void) {
    this.#admit = admit
  }

  enter (who: T): void {
    this.#line = [...this.#line, who]
    if (this.#line.length === 1) this.#admit(who)
  }

  /** Ends a turn, or gives up a place in the line; does nothing for one who has neither. */
  leave (who: T): void {
    const [first] = this.#line
    this.#line = this.#line.filter(each => each !== who)
    const [next] = this.#line
    if (first === who && next !== undefined) this.#admit(next)
  }
}
