/**
 * Decides whether to believe an empty listing of a kind, or of a node of the store. A flushed database, or a replica that has not synchronised yet,
 * looks as if everything had been deleted. So the loaded entries are held (stay served) until the store has reported the deletions, or a time has
 * passed (docs/stores.md, What happens in an outage).
 */
export class EmptyHold {
  readonly #milliseconds: number
  readonly #now: () => number
  readonly #since = new Map<string, number>()
  #released = false

  /** @param milliseconds how long entries are held @param now a clock in ms */
  constructor (milliseconds: number, now: () => number = () => performance.now()) {
    this.#milliseconds = milliseconds
    this.#now = now
  }

  /**
   * Decides whether the listing of a kind or node is believed: `accept`. Otherwise the loaded entries of the kind or node are held (stay served): `held
   * now` the first time, `held` later.
   * @param scope the kind, or the node
   * @param present the keys of the scope that are loaded
   * @param listed how many keys of the scope the store lists now
   * @param wasAnnounced whether the store has reported a key's deletion
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

  /** The kinds and nodes whose loaded entries are held now. */
  held (): string[] {
    return [...this.#since.keys()]
  }

  /** From now until `settle` is called, every listing of the store is believed, even an empty listing. A reload of the registry calls this. */
  release (): void {
    this.#since.clear()
    this.#released = true
  }

  /** Ends the time, begun by `release`, in which every listing of the store is believed. */
  settle (): void {
    this.#released = false
  }
}

function every (keys: Iterable<string>, test: (key: string) => boolean): boolean {
  for (const key of keys) if (!test(key)) return false
  return true
}
