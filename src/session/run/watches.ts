import { type JsonObject } from '../../base/json.ts'
import { type SessionStore } from '../session-store.ts'

/**
 * Watches the sessions for which this process performs effects, so that the process hears of log entries that other replicas add, such as
 * a stop or an approval.
 */
export class Watches {
  readonly #store: SessionStore
  readonly #onNews: (id: string, seq: number) => void
  readonly #onLive: (live: JsonObject) => void
  readonly #open = new Map<string, Promise<() => void>>()
  /** The ids of sessions that stay watched while no effect runs for them. */
  readonly #kept = new Set<string>()

  /**
   * Creates the object; no session is watched yet.
   * @param onNews called with a session's id and the number of a new entry of its log, or `Infinity` when there are perhaps new entries
   * @param onLive called with each live message (a message that is not stored in the log)
   */
  constructor (store: SessionStore, onNews: (id: string, seq: number) => void, onLive: (live: JsonObject) => void = () => {}) {
    this.#store = store
    this.#onNews = onNews
    this.#onLive = onLive
  }

  /** Watches a session for transitions of other processes until `release` is called, also while this process performs no effect of the session. */
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
    // Log entries that were added before the store began to watch did not reach the listener, so `onNews` is called once in any case.
    void watch.then(look)
  }

  close (id: string): void {
    if (this.#kept.has(id)) return
    const watch = this.#open.get(id)
    this.#open.delete(id)
    void watch?.then(stop => { stop() })
  }

  /** Stops watching all sessions; resolves when the store tells this process of no more entries. */
  async closeAll (): Promise<void> {
    for (const watch of this.#open.values()) (await watch)()
  }
}
