import { type JsonObject } from '../../../base/json.ts'
import { type SessionListener } from '../../session-store.ts'

/** Who follows which session in this process. */
export class SessionListeners {
  readonly #listeners = new Map<string, Set<SessionListener>>()

  /** @returns removes the listener; doing so again does nothing */
  add (id: string, listener: SessionListener): () => void {
    // One of its own for each call: who watches twice hears all twice, and ends one at a time.
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

  /** Word may have been lost, of every session. */
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
