import { type SessionStore } from '../session-store.ts'

/** Hears of what others add to the sessions that something runs for here: an end of it, or an approval. */
export class Watches {
  readonly #store: SessionStore
  readonly #onNews: (id: string, seq: number) => void
  readonly #open = new Map<string, Promise<() => void>>()

  /** @param onNews called with the number of a transition, or `Infinity` when there may be some */
  constructor (store: SessionStore, onNews: (id: string, seq: number) => void) {
    this.#store = store
    this.#onNews = onNews
  }

  open (id: string): void {
    if (this.#open.has(id)) return
    const look = (): void => { this.#onNews(id, Infinity) }
    const listener = { onAppend: (seq: number) => { this.#onNews(id, seq) }, onLive () {}, onGap: look }
    const watch = this.#store.watch(id, listener).catch(() => () => {})
    this.#open.set(id, watch)
    // What was added before the store listened is heard of by nobody.
    void watch.then(look)
  }

  close (id: string): void {
    const watch = this.#open.get(id)
    this.#open.delete(id)
    void watch?.then(stop => { stop() })
  }

  /** Settles when nothing is heard of any more. */
  async closeAll (): Promise<void> {
    for (const watch of this.#open.values()) (await watch)()
  }
}
