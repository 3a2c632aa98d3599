import pRetry from 'p-retry'
import type { JsonObject } from '../../base/json.ts'
import type { Head, LogPosition, Status, LogEntry } from '../model.ts'

/** Entries in one page. */
export const PAGE_SIZE = 500

/** Bytes at which a page is full. */
export const PAGE_BYTES = 256 * 1024

/** Of the JSON, a store itself uses only the number and the token. */
export interface StoredLogEntry {
  readonly seq: number
  readonly text: string
  /** HMAC; empty where no secret is configured. */
  readonly seal: string
}

/**
 * A session store keeps the logs of sessions: in memory, in a folder, or in Redis (one server, Sentinel, Cluster). One suite of tests shows that
 * all behave alike. Each append (write of one entry) names the entry that it follows, so of two concurrent writers one is refused. Every method
 * throws SessionStoreError when the store cannot be reached. The writer then does not know whether the entry arrived; it sends the same append,
 * with the same token, to find out. The store forgets an ended session after a time that is set when the store is created.
 */
export interface SessionStore {
  /** Updates log, head and due time in one step. @throws RangeError when id, number, token and head do not fit together */
  append (append: Append): Promise<Appended>
  /** An unknown session has no page. */
  read (id: string, after: number): AsyncIterable<readonly StoredLogEntry[]>
  head (id: string): Promise<Head | undefined>
  hasOpen (): Promise<boolean>
  /** Without child sessions. */
  countOpen (owner: string): Promise<number>
  /** For operators: reads the heads of open sessions, at most 32,000. */
  tally (): Promise<Tally>
  /** The newest first. A page with `next` may have fewer sessions than `limit`, or none. @throws RangeError for a foreign cursor */
  list (query: ListQuery): Promise<HeadPage>
  /** All in which an approval waits, child sessions too, the first begun first. */
  asking (): Promise<readonly Asking[]>
  /**
   * Lets the replica (service process) `by` take over sessions that are due: nobody drives them (performs their effects) any more, or they have
   * waited too long for a person. Owners take turns. For `lease` ms, by the store's clock, no other replica gets these sessions.
   * @param engines those that the replica has. Sessions of others stay due, for other replicas. @default all
   * @param passed owners whose sessions stay due. @default none
   * @returns their ids, and in how many ms the next session is due: 0 when more are due than the limit, undefined when no session has a due time
   */
  take (by: string, limit: number, lease: number, engines?: ReadonlySet<string>, passed?: ReadonlySet<string>): Promise<Taken>
  /** For `lease` ms nobody can take over the sessions that `by` still drives. */
  renew (by: string, ids: readonly string[], lease: number): Promise<readonly Renewed[]>
  /** Takes the session from its driver, and makes it due now. @returns `false` for one that is unknown or has ended */
  redrive (id: string): Promise<boolean>
  /** What is known of an owner whom no file names; `undefined` forgets the owner. */
  keepOwner (name: string, text: string | undefined): Promise<void>
  keptOwners (): Promise<ReadonlyMap<string, string>>
  /** Live messages are not stored. Never throws. */
  publish (id: string, live: JsonObject): void
  /** A broken connection can lose messages: `onGap` then says to read the log again. @returns ends the following */
  watch (id: string, listener: SessionListener): Promise<() => void>
  /** Why the store cannot keep sessions now. */
  problem (): string | undefined
  close (): Promise<void>
}

export interface Append {
  readonly id: string
  /** As far as the writer knows; `undefined` creates the session. */
  readonly after: LogPosition | undefined
  readonly transition: LogEntry
  readonly entry: StoredLogEntry
  /** Owner, `createdAt`, parent and root never change after the first log entry. */
  readonly head: Head
  /** In ms after the append, by the store's clock. 'never' also removes the driver; 'keep' leaves both. Only a number sets the driver from `head`. */
  readonly due: number | 'never' | 'keep'
}

/** 'again': the log has it already, with the same token. An object: refused; `top` is the log's last entry. */
export type Appended = 'ok' | 'again' | { readonly top: LogPosition | undefined }

export type Asking = Pick<Head, 'id' | 'owner' | 'definition' | 'createdAt'>

export interface ListQuery {
  readonly owner?: string
  readonly statuses?: readonly Status[]
  readonly isAsking?: true
  readonly definition?: string
  /** What definitions begin with, such as `agents`. */
  readonly kind?: string
  /** When the session began, in ms since 1970: at `since` or later, and before `until`. */
  readonly since?: number
  readonly until?: number
  /** Only descendants. Without `root`, child sessions are left out. */
  readonly root?: string
  /** Only with `root`. */
  readonly parent?: string
  readonly limit: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface HeadPage {
  readonly heads: readonly Head[]
  readonly next: string | undefined
}

/** How many due sessions of other engines `take` steps over, and names. */
export const MAX_UNKNOWN = 1000

export interface Taken {
  readonly ids: readonly string[]
  readonly next: number | undefined
  readonly unknown?: readonly UnknownSession[]
}

export interface UnknownSession {
  readonly id: string
  readonly engine: string
  /** In ms by the store's clock. */
  readonly overdue: number
}

export interface Renewed {
  readonly id: string
  readonly seq: number
  readonly isYours: boolean
}

/** Sessions that have not ended, children too. */
export interface Tally {
  readonly open: ReadonlyArray<Pick<Head, 'status'> & { /** As in `ListQuery`. */ readonly kind: string, readonly count: number }>
  /** Sessions that are not counted by kind, since too many are open. */
  readonly unread: number
  readonly due: number
  /** In ms by the store's clock, of the first that is due; 0 where none is. */
  readonly overdue: number
  /** When the approval was asked for that waits longest, in ms since 1970. */
  readonly asked: number | undefined
}

export interface SessionListener {
  onAppend (seq: number): void
  onLive (live: JsonObject): void
  onGap (): void
}

export class SessionStoreError extends Error {
  override readonly name = 'SessionStoreError'
}

export class SessionListeners {
  readonly #listeners = new Map<string, Set<SessionListener>>()

  /** @returns removes the listener; a second call does nothing */
  add (id: string, listener: SessionListener): () => void {
    // A listener added twice hears everything twice, and each removal removes one.
    const own = { ...listener }
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

  gap (): void {
    for (const all of this.#listeners.values()) for (const listener of all) listener.onGap()
  }

  clear (): void {
    this.#listeners.clear()
  }
}

/** Becomes a part of file names and Redis keys. */
const ID = /^[0-9a-f]{32}$/

export function isSessionId (text: string): boolean {
  return ID.test(text)
}

/** No writer can leave a gap in the numbers. @throws RangeError */
export function checkAppend ({ id, after, transition: { seq, token }, entry, head }: Append): void {
  if (!isSessionId(id)) throw new RangeError(`expected an id of 32 hexadecimal digits, not ${JSON.stringify(id.slice(0, 40))}`)
  if (seq !== (after?.seq ?? 0) + 1) throw new RangeError(`expected transition ${(after?.seq ?? 0) + 1} of session ${id}, not ${seq}`)
  if (entry.seq !== seq || head.id !== id || head.seq !== seq || head.token !== token) {
    throw new RangeError(`the head of session ${id} is not that of its transition ${seq}`)
  }
}

/** Of two concurrent writers, the second fails here. */
export function isNext ({ after }: Append, top: LogPosition | undefined): boolean {
  return top?.seq === after?.seq && top?.token === after?.token
}

/** 'again' for a retry of this very log entry. @param token of the stored entry with the same number */
export function refusal ({ transition }: Append, top: LogPosition | undefined, token: string | undefined): Appended {
  return token === transition.token ? 'again' : { top: top && { seq: top.seq, token: top.token } }
}

/** Repeats `work` while the session store cannot be reached. @throws any other error of `work` */
export async function retryUntilClosed<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => error instanceof SessionStoreError && !signal.aborted
  return await pRetry(work, { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry })
}
