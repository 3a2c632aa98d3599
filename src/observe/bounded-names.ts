/** What names beyond the bound are called. */
export const OTHERS = '(others)'

/**
 * Names that become labels, up to a limit. Every combination of labels stays in memory and in Prometheus for good, and
 * callers can invent as many models as they like.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  #limit: number

  /** @param limit how many beside those that are reserved */
  constructor (limit: number) {
    this.#limit = limit
  }

  /** Takes up names that are known beforehand, such as those of the configuration. They do not count against the limit. */
  reserve (names: Iterable<string>): void {
    for (const name of names) {
      if (this.#names.has(name)) continue
      this.#names.add(name)
      this.#limit++
    }
  }

  /** The name, taken up if there is room, else `(others)`. */
  take (name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#limit) return OTHERS
    this.#names.add(name)
    return name
  }

  /** The name if it is taken up already, else `(others)`. */
  find (name: string): string {
    return this.#names.has(name) ? name : OTHERS
  }
}
