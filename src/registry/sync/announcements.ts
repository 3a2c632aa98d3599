/** Above this many keys it is cheaper to look at everything again, though deletes among them then count as not seen. */
const MAX_KEYS = 100_000

/** Changed keys that the store has told of and that have not been read yet. */
export class Announcements {
  #keys = new Set<string>()
  #since = Infinity

  get size (): number {
    return this.#keys.size
  }

  has (key: string): boolean {
    return this.#keys.has(key)
  }

  /** Adds keys; returns whether there are now too many. @param since when the first of the keys arrived, in ms */
  add (keys: Iterable<string>, since: number): boolean {
    for (const key of keys) this.#keys.add(key)
    this.#since = Math.min(this.#since, since)
    return this.#keys.size > MAX_KEYS
  }

  /** Removes and returns all keys, with the time when the first of them arrived. */
  take (): { readonly keys: readonly string[], readonly since: number } {
    const taken = { keys: [...this.#keys], since: this.#since }
    this.clear()
    return taken
  }

  clear (): void {
    this.#keys = new Set()
    this.#since = Infinity
  }
}
