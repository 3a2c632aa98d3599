/** What is being read; a key that changes meanwhile is read again by whoever follows changes. */
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

  /** Whether the store may be another one than when it began: what was read is of before or after, and no one knows which. */
  get isInterrupted (): boolean {
    return this.#isInterrupted
  }

  /** Whether what was read of a key may be older than its last change. */
  hasChanged (key: string): boolean {
    return this.#changed.has(key)
  }

  end (): void {
    this.#onEnd()
  }
}
