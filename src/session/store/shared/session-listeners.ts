import { type JsonObject } from '../../../base/json.ts'
import { type SessionListener } from '../../session-store.ts'

/** The listeners of this process, by the id of the session that they follow. They hear of new log entries and of live messages. */
export class SessionListeners {
  readonly #listeners = new Map<string, Set<SessionListener>>()

  /** Adds a listener. @returns a function that removes the listener; a second call does nothing */
  add (id: string, listener: SessionListener): () => void {
    // Each call adds a new object, so a listener that is added twice hears everything twice, and each of the two removals removes only one.
    const own = bound(listener)
    const all = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, all.add(own))
    return () => {
      all.delete(own)
      if (all.size === 0 && this.#listeners.get(id) === all) this.#listeners.delete(id)
    }
  }

  has (id: string): boolean {
    return this.#listeners.has(id)
  }

  ids (): string[] {
    return [...this.#listeners.keys()]
  }

  appended (id: string, seq: number): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.onAppend(seq)
  }

  live (id: string, live: JsonObject): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.onLive(live)
  }

  /** Tells all listeners of all sessions that messages have perhaps been lost. */
  gap (): void {
    for (const all of this.#listeners.values()) for (const listener of all) listener.onGap()
  }

  clear (): void {
    this.#listeners.clear()
  }
}

function bound (listener: SessionListener): SessionListener {
  return {
    onAppend: seq => listener.onAppend(seq),
    onLive: live => listener.onLive(live),
    onGap: () => listener.onGap()
  }
}
