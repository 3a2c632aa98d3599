import { ENDED, type Head } from '../../model.ts'
import { compareNewest, isWanted, type Place } from './session-order.ts'
import { type Append, type ListQuery, type Renewed, type SessionStore } from '../../session-store.ts'

/** What is known of a session beside its log. */
export interface IndexEntry {
  readonly head: Head
  /** In ms since 1970; undefined for never. */
  readonly due: number | undefined
}

/** What an append makes of a session's head and due time. @param now in ms since 1970 */
export function indexed ({ head, due }: Append, before: IndexEntry | undefined, now: number): IndexEntry {
  switch (due) {
    case 'keep': return { head: { ...head, driver: before?.head.driver }, due: before?.due }
    case 'never': return { head: { ...head, driver: undefined }, due: undefined }
    default: return { head, due: now + due }
  }
}

/** Heads and due times in memory, for stores that one process has to itself. */
export class SessionIndex<E extends IndexEntry = IndexEntry> {
  readonly #entries = new Map<string, E>()

  get (id: string): E | undefined {
    return this.#entries.get(id)
  }

  put (entry: E): void {
    this.#entries.set(entry.head.id, entry)
  }

  delete (id: string): void {
    this.#entries.delete(id)
  }

  /** @see SessionStore.take */
  take (by: string, limit: number, lease: number, now: number): Awaited<ReturnType<SessionStore['take']>> {
    const due = [...this.#entries.values()].filter(entry => entry.due !== undefined && entry.due <= now)
      .sort((a, b) => (a.due ?? 0) - (b.due ?? 0)).slice(0, limit)
    for (const entry of due) this.put({ ...entry, head: { ...entry.head, driver: by }, due: now + lease })
    let next = Infinity
    for (const { due: at } of this.#entries.values()) if (at !== undefined && at < next) next = at
    return { ids: due.map(({ head }) => head.id), next: next === Infinity ? undefined : Math.max(0, next - now) }
  }

  /** @see SessionStore.renew */
  renew (by: string, id: string, lease: number, now: number): Renewed | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined) return undefined
    const isYours = entry.head.driver === by
    if (isYours) this.put({ ...entry, due: now + lease })
    return { id, seq: entry.head.seq, isYours }
  }

  /** @see SessionStore.hasOpen */
  hasOpen (): boolean {
    for (const { due } of this.#entries.values()) if (due !== undefined) return true
    return false
  }

  /** @see SessionStore.countOpen */
  countOpen (owner: string): number {
    let count = 0
    for (const { head } of this.#entries.values()) if (head.owner === owner && head.parent === undefined && !ENDED.has(head.status)) count++
    return count
  }

  /** The heads that a list asks for, in its order. @param after what they follow */
  list (query: ListQuery, after: Place | undefined): Head[] {
    const heads: Head[] = []
    for (const { head } of this.#entries.values()) {
      if (isWanted(head, query) && (after === undefined || compareNewest(after, head) < 0)) heads.push(head)
    }
    return heads.sort(compareNewest)
  }
}
