/** Values of keys that change during their read are perhaps outdated, and are read again by the code that follows changes. */
export class ReadsInFlight {
  readonly #reads = new Set<ReadInFlight>()

  begin (): ReadInFlight {
    const read = new ReadInFlight(() => this.#reads.delete(read))
    this.#reads.add(read)
    return read
  }

  changed (keys: ReadonlySet<string>): void {
    for (const read of this.#reads) read.note(keys)
  }

  /** After an interruption the process is perhaps connected to another store. */
  interrupt (): void {
    for (const read of this.#reads) read.interrupt()
  }
}

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

  /** The values of an interrupted read perhaps come from two different stores. */
  get isInterrupted (): boolean {
    return this.#isInterrupted
  }

  /** A value that was read for a changed key is perhaps outdated. */
  hasChanged (key: string): boolean {
    return this.#changed.has(key)
  }

  end (): void {
    this.#onEnd()
  }
}

/** With more, all are forgotten and the whole store is read, as if no deletion had been reported. */
const MAX_KEYS = 100_000

export class Announcements {
  #keys = new Set<string>()
  /** Since the last whole read began, read since or not; at most `MAX_KEYS`. */
  #recent = new Set<string>()
  #since = Infinity

  get size (): number {
    return this.#keys.size
  }

  has (key: string): boolean {
    return this.#keys.has(key)
  }

  /** Returns whether there are too many to remember. `since` in ms. */
  add (keys: Iterable<string>, since: number): boolean {
    for (const key of keys) {
      this.#keys.add(key)
      if (this.#recent.size < MAX_KEYS) this.#recent.add(key)
    }
    this.#since = Math.min(this.#since, since)
    return this.#keys.size > MAX_KEYS
  }

  take (): { readonly keys: readonly string[], readonly since: number } {
    const taken = { keys: [...this.#keys], since: this.#since }
    this.clear()
    return taken
  }

  beginWholeRead (): ReadonlySet<string> {
    const recent = this.#recent
    this.#recent = new Set()
    return recent
  }

  /** That read does not count; `recent` is what it has returned. */
  abandonWholeRead (recent: ReadonlySet<string>): void {
    this.#recent = new Set([...recent, ...this.#recent])
  }

  clear (): void {
    this.#keys = new Set()
    this.#since = Infinity
  }
}
