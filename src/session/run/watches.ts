import { type JsonObject } from '../../base/json.ts'
import { type SessionStore } from '../session-store.ts'

/** Hears of what others add to the sessions that something runs for here: an end of it, or an approval. */
export class Watches {
  readonly #store: SessionStore
  readonly #onNews: (id: string, seq: number) => void
  readonly #onLive: (live: JsonObject) => void
  readonly #open = new Map<string, Promise<() => void>>()
  /** Sessions that are heard of while nothing runs for them, too. */
  readonly #kept = new Set<string>()

  /** @param onNews called with the number of a transition, or `Infinity` when there may be some @param onLive called with what is said live */
  constructor (store: SessionStore, onNews: (id: string, seq: number) => void, onLive: (live: JsonObject) => void = () => {}) {
    this.#store = store
    this.#onNews = onNews
    this.#onLive = onLive
  }

  /** Hears of a session until `release`, whatever runs for it. */
  keep (id: string): void {
    this.#kept.add(id)
    this.open(id)
  }

  release (id: string): void {
    this.#kept.delete(id)
    this.close(id)
  }

  open (id: string): void {
    if (this.#open.has(id)) return
    const look = (): void => { this.#onNews(id, Infinity) }
    const listener = { onAppend: (seq: number) => { this.#onNews(id, seq) }, onLive: this.#onLive, onGap: look }
    const watch = this.#store.watch(id, listener).catch(() => () => {})
    this.#open.set(id, watch)
    // What was added before the store listened is heard of by nobody.
    void watch.then(look)
  }

  close (id: string): void {
    if (this.#kept.has(id)) return
    const watch = this.#open.get(id)
    this.#open.delete(id)
    void watch?.then(stop => { stop() })
  }

  /** Settles when nothing is heard of any more. */
  async closeAll (): Promise<void> {
    for (const watch of this.#open.values()) (await watch)()
  }
}
