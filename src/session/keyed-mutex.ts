/** A mutex for each id: work on one id runs one after the other; work on different ids runs side by side. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T> (id: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(id) ?? Promise.resolve()).then(work, work)
    this.#last.set(id, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(id) === turn) this.#last.delete(id)
    }
  }
}
