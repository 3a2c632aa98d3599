/** The label value under which a metric counts all names for which it has no room. */
export const OTHERS = '(others)'

/**
 * The names that become values of a metric's label, up to a limit; all other names become `(others)`. Each combination of label values
 * stays in memory and in Prometheus for ever, and callers can invent as many names of models as they like.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  #limit: number

  /** @param limit the greatest number of names, not counting the reserved ones */
  constructor (limit: number) {
    this.#limit = limit
  }

  /** Adds names that are known beforehand, such as those of the configuration. They do not count against the limit. */
  reserve (names: Iterable<string>): void {
    for (const name of names) {
      if (this.#names.has(name)) continue
      this.#names.add(name)
      this.#limit++
    }
  }

  /** The label value under which a name is counted: the name itself, which is added if there is room, otherwise `(others)`. */
  take (name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#limit) return OTHERS
    this.#names.add(name)
    return name
  }

  /** The label value under which a name is counted: the name itself if it was added before, otherwise `(others)`. */
  find (name: string): string {
    return this.#names.has(name) ? name : OTHERS
  }
}
