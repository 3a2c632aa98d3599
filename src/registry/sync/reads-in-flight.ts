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
export class ReadInFlight {
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
