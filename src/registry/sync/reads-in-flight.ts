/** The reads under way. A key that changes during a read is read again by the code that follows changes. */
export class ReadsInFlight {
  readonly #reads = new Set<ReadInFlight>()

  /** Begins a read. */
  begin (): ReadInFlight {
    const read = new ReadInFlight(() => this.#reads.delete(read))
    this.#reads.add(read)
    return read
  }

  /** Tells all reads of changed keys. */
  changed (keys: ReadonlySet<string>): void {
    for (const read of this.#reads) read.note(keys)
  }

  /** Tells all reads that the store may be another one than when they began. */
  interrupt (): void {
    for (const read of this.#reads) read.interrupt()
  }
}

/** One read, and what has changed since it began. */
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

  /** Whether the store may have been replaced since the read began: the values may be from before or after, and nobody can tell which. */
  get isInterrupted (): boolean {
    return this.#isInterrupted
  }

  /** Whether the value that was read for a key may be older than the key's last change. */
  hasChanged (key: string): boolean {
    return this.#changed.has(key)
  }

  end (): void {
    this.#onEnd()
  }
}
