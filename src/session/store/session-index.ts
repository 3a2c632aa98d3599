import { ENDED, type Head } from '../model.ts'
import { type Append, type HeadPage, type ListQuery, MAX_UNKNOWN, type Renewed, type Taken, type Tally } from './session-store.ts'

export interface IndexEntry {
  readonly head: Head
  /** In ms since 1970; `undefined` for never. */
  readonly due: number | undefined
}

/** @param now in ms since 1970 */
export function indexed ({ head, due }: Append, before: IndexEntry | undefined, now: number): IndexEntry {
  switch (due) {
    case 'keep': return { head: { ...head, driver: before?.head.driver }, due: before?.due }
    case 'never': return { head: { ...head, driver: undefined }, due: undefined }
    default: return { head, due: now + due }
  }
}

export class SessionIndex<E extends IndexEntry = IndexEntry> {
  readonly #entries = new Map<string, E>()
  /** The owner whose session was taken last. */
  #turn = ''

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
  take (by: string, limit: number, lease: number, now: number, engines?: ReadonlySet<string>, passed?: ReadonlySet<string>): Taken {
    const isKnown = ({ head }: E): boolean => engines?.has(head.engine) ?? true
    const isWanted = (entry: E): boolean => isKnown(entry) && passed?.has(entry.head.owner) !== true
    const due = [...this.#entries.values()].filter(entry => entry.due !== undefined && entry.due <= now).sort((a, b) => (a.due ?? 0) - (b.due ?? 0))
    const taken = this.#inTurns(due.filter(isWanted), limit)
    const unknown = due.filter(entry => !isKnown(entry)).slice(0, MAX_UNKNOWN)
      .map(({ head: { id, engine }, due: at = now }) => ({ id, engine, overdue: now - at }))
    for (const entry of taken) this.put({ ...entry, head: { ...entry.head, driver: by }, due: now + lease })
    let next = Infinity
    for (const entry of this.#entries.values()) if (entry.due !== undefined && entry.due < next && (entry.due > now || isWanted(entry))) next = entry.due
    const told = { ids: taken.map(({ head }) => head.id), next: next === Infinity ? undefined : Math.max(0, next - now) }
    return unknown.length === 0 ? told : { ...told, unknown }
  }

  /** One of each owner after the other, from the owner behind the last one. */
  #inTurns (due: readonly E[], limit: number): E[] {
    const owners = new Map<string, E[]>()
    for (const entry of due) {
      const own = owners.get(entry.head.owner)
      if (own === undefined) owners.set(entry.head.owner, [entry])
      else own.push(entry)
    }
    const sorted = [...owners.keys()].sort()
    const turns = [...sorted.filter(owner => owner > this.#turn), ...sorted.filter(owner => owner <= this.#turn)]
    const taken: E[] = []
    for (let rank = 0; taken.length < Math.min(limit, due.length); rank++) {
      taken.push(...turns.flatMap(owner => owners.get(owner)?.[rank] ?? []).slice(0, limit - taken.length))
    }
    this.#turn = taken.at(-1)?.head.owner ?? this.#turn
    return taken
  }

  /** `undefined` for an unknown session. @see SessionStore.renew */
  renew (by: string, id: string, lease: number, now: number): Renewed | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined) return undefined
    const isYours = entry.head.driver === by
    if (isYours) this.put({ ...entry, due: now + lease })
    return { id, seq: entry.head.seq, isYours }
  }

  /** @see SessionStore.redrive */
  redrive (id: string, now: number): boolean {
    const entry = this.#entries.get(id)
    if (entry?.due === undefined) return false
    this.put({ ...entry, head: { ...entry.head, driver: undefined }, due: now })
    return true
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

  /** @see SessionStore.tally */
  tally (now: number): Tally {
    const counts = new Map<string, Tally['open'][number]>()
    let [due, first, asked] = [0, now, Infinity]
    for (const entry of this.#entries.values()) {
      const { head: { definition, status, isAsking, askedAt, updatedAt } } = entry
      if (ENDED.has(status)) continue
      const kind = kindOf(definition)
      const key = `${kind} ${status}`
      counts.set(key, { kind, status, count: (counts.get(key)?.count ?? 0) + 1 })
      if (isAsking) asked = Math.min(asked, askedAt ?? updatedAt)
      if (entry.due === undefined || entry.due > now) continue
      due++
      first = Math.min(first, entry.due)
    }
    return { open: [...counts.values()], unread: 0, due, overdue: now - first, asked: asked === Infinity ? undefined : asked }
  }

  /** @see SessionStore.asking */
  asking (): Head[] {
    const heads: Head[] = []
    for (const { head } of this.#entries.values()) if (head.isAsking && !ENDED.has(head.status)) heads.push(head)
    return heads.sort((a, b) => compareNewest(b, a))
  }

  list (query: ListQuery, after: ListPosition | undefined): Head[] {
    const heads: Head[] = []
    for (const { head } of this.#entries.values()) {
      if (matchesQuery(head, query) && (after === undefined || compareNewest(after, head) < 0)) heads.push(head)
    }
    return heads.sort(compareNewest)
  }
}

/** What a definition begins with, such as `agents`. */
export function kindOf (definition: string): string {
  return definition.split('/', 1).join()
}

/** Without a cursor, a list begins before `until`: no id comes behind the zeros. @throws RangeError for a foreign cursor */
export function startOfList ({ cursor, until }: Pick<ListQuery, 'cursor' | 'until'>): ListPosition | undefined {
  return parseCursor(cursor) ?? (until === undefined ? undefined : { createdAt: until, id: '0'.repeat(32) })
}

/** Sorted by beginning, then by id. */
export type ListPosition = Pick<Head, 'createdAt' | 'id'>

/** The newest first; within one millisecond the greater id. */
export function compareNewest (a: ListPosition, b: ListPosition): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

export function cursorOf ({ createdAt, id }: ListPosition): string {
  return `${createdAt}-${id}`
}

/** @param sorted beginning with the first of the page */
export function pageOf (sorted: readonly Head[], limit: number): HeadPage {
  const heads = sorted.slice(0, limit)
  const last = heads.at(-1)
  return { heads, next: last !== undefined && sorted.length > heads.length ? cursorOf(last) : undefined }
}

/** @throws RangeError for a foreign cursor */
function parseCursor (cursor: string | undefined): ListPosition | undefined {
  if (cursor === undefined) return undefined
  const [, createdAt, id] = /^(\d{1,15})-([0-9a-f]{32})$/.exec(cursor) ?? []
  if (createdAt === undefined || id === undefined) throw new RangeError('the cursor is not one that a page of sessions has given as "next"')
  return { createdAt: Number(createdAt), id }
}

export function matchesQuery (head: Head, { owner, statuses, isAsking, definition, kind, since, until, root, parent }: ListQuery): boolean {
  return head.root === root &&
    (parent === undefined || head.parent === parent) &&
    (isAsking === undefined || head.isAsking) &&
    (owner === undefined || head.owner === owner) &&
    (statuses === undefined || statuses.includes(head.status)) &&
    (definition === undefined || head.definition === definition) &&
    (kind === undefined || head.definition.startsWith(`${kind}/`)) &&
    (since === undefined || head.createdAt >= since) &&
    (until === undefined || head.createdAt < until)
}
