/**
 * Decides whether an empty listing, of a kind or of a node of the store, is believed. A flushed database or a replica that has not synchronised looks like
 * "everything was deleted"; only deletes that were seen, or time, make that true (docs/stores.md, What happens in
 * an outage).
 */
export class EmptyHold {
  readonly #milliseconds: number
  readonly #now: () => number
  readonly #since = new Map<string, number>()
  #released = false

  /** @param milliseconds how long anything is held @param now a clock in ms */
  constructor (milliseconds: number, now: () => number = () => performance.now()) {
    this.#milliseconds = milliseconds
    this.#now = now
  }

  /**
   * @param scope the kind, or the node
   * @param present its keys that are loaded
   * @param listed how many keys the store shows now
   * @param wasAnnounced whether the store has told of that key's deletion
   */
  decide (scope: string, present: Iterable<string>, listed: number, wasAnnounced: (key: string) => boolean): 'accept' | 'held now' | 'held' {
    if (listed > 0 || this.#released || every(present, wasAnnounced)) {
      this.#since.delete(scope)
      return 'accept'
    }
    const since = this.#since.get(scope)
    if (since === undefined) {
      this.#since.set(scope, this.#now())
      return 'held now'
    }
    if (this.#now() - since < this.#milliseconds) return 'held'
    this.#since.delete(scope)
    return 'accept'
  }

  /** The kinds and nodes that are held now. */
  held (): string[] {
    return [...this.#since.keys()]
  }

  /** Believes whatever the next listing shows. */
  release (): void {
    this.#since.clear()
    this.#released = true
  }

  /** Ends the time in which every listing is believed, which `release` began. */
  settle (): void {
    this.#released = false
  }
}

function every (keys: Iterable<string>, test: (key: string) => boolean): boolean {
  for (const key of keys) if (!test(key)) return false
  return true
}
