/**
 * The reads of the store that are under way. Each read notes the keys that change meanwhile. The values read for such keys are perhaps outdated, so the
 * code that follows the store's changes reads these keys again.
 */
export class ReadsInFlight {
  readonly #reads = new Set<ReadInFlight>()

  /** Adds a read to those under way. */
  begin (): ReadInFlight {
    const read = new ReadInFlight(() => this.#reads.delete(read))
    this.#reads.add(read)
    return read
  }

  /** Tells all reads under way which keys have changed. */
  changed (keys: ReadonlySet<string>): void {
    for (const read of this.#reads) read.note(keys)
  }

  /** Tells all reads under way that the connection was interrupted. After that the process is perhaps connected to another store than before. */
  interrupt (): void {
    for (const read of this.#reads) read.interrupt()
  }
}

/** One read of the store, with the keys that have changed since it began. */
class ReadInFlight {
  readonly #changed = new Set<string>()
  readonly #onEnd: () => void
  #isInterrupted = false

  constructor (onEnd: () => void) {
    this.#onEnd = onEnd
  }

  note (keys: ReadonlySet<string>): void {
    for (const key of keys) this.#changed.add(key)
  }

  interrupt (): void {
    this.#isInterrupted = true
  }

  /** Whether the connection was interrupted since the read began. Then the values perhaps come from two different stores. */
  get isInterrupted (): boolean {
    return this.#isInterrupted
  }

  /** Whether a key has changed since the read began. Then the value that was read for the key is perhaps outdated. */
  hasChanged (key: string): boolean {
    return this.#changed.has(key)
  }

  end (): void {
    this.#onEnd()
  }
}

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
