/** The label that stands for all names beyond the bound. */
export const OTHERS = '(others)'

/**
 * Names that become labels of metrics, up to a limit. Every combination of labels stays in memory and in Prometheus for good, and callers can invent
 * as many names of models as they like.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  #limit: number

  /** @param limit how many names there may be beside the reserved ones */
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

  /** The label for a name: the name itself, which is added if there is room, otherwise `(others)`. */
  take (name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#limit) return OTHERS
    this.#names.add(name)
    return name
  }

  /** The label for a name: the name itself if it was added before, otherwise `(others)`. */
  find (name: string): string {
    return this.#names.has(name) ? name : OTHERS
  }
}
