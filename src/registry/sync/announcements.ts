/** The most changed keys that are remembered. With more, they are all forgotten and the whole store is read again, as if no deletion had been reported. */
const MAX_KEYS = 100_000

/** The changed keys that the store has reported and that this process has not read yet. */
export class Announcements {
  #keys = new Set<string>()
  /** The keys that were reported since the last read of the whole store began, read since or not; not more than `MAX_KEYS`. */
  #recent = new Set<string>()
  #since = Infinity

  get size (): number {
    return this.#keys.size
  }

  has (key: string): boolean {
    return this.#keys.has(key)
  }

  /** Adds changed keys; returns whether there are now too many to remember. @param since when the first of the keys arrived, in ms */
  add (keys: Iterable<string>, since: number): boolean {
    for (const key of keys) {
      this.#keys.add(key)
      if (this.#recent.size < MAX_KEYS) this.#recent.add(key)
    }
    this.#since = Math.min(this.#since, since)
    return this.#keys.size > MAX_KEYS
  }

  /** Removes and returns all keys, with the time when the first of them arrived. */
  take (): { readonly keys: readonly string[], readonly since: number } {
    const taken = { keys: [...this.#keys], since: this.#since }
    this.clear()
    return taken
  }

  /** Begins a read of the whole store. @returns the keys that were reported since the last one began */
  beginWholeRead (): ReadonlySet<string> {
    const recent = this.#recent
    this.#recent = new Set()
    return recent
  }

  /** Takes back `beginWholeRead`, because that read does not count. @param recent what it has returned */
  abandonWholeRead (recent: ReadonlySet<string>): void {
    this.#recent = new Set([...recent, ...this.#recent])
  }

  clear (): void {
    this.#keys = new Set()
    this.#since = Infinity
  }
}
