import pRetry from 'p-retry'
import type { JsonObject } from '../../base/json.ts'
import type { Head, LogPosition, Status, LogEntry } from '../model.ts'

/** The most entries of a session's log that the store gives in one page. */
export const PAGE_SIZE = 500

/** The size at which a page of a session's log is full, in bytes, though it has fewer than `PAGE_SIZE` entries. */
export const PAGE_BYTES = 256 * 1024

/** The stored form of a transition (one item of a session's log). Of its JSON, a store itself uses no more than the number and the token. */
export interface StoredLogEntry {
  readonly seq: number
  /** The JSON of the transition. */
  readonly text: string
  /** The seal: a signature (HMAC) which proves that this service wrote the transition; empty where no secret is configured. */
  readonly seal: string
}

/**
 * A session store keeps the logs of sessions: in memory, in a folder, or in Redis (one server, Sentinel, Cluster). One suite of tests shows that
 * all behave alike. Each append (write of one entry) names the entry that it follows, so of two concurrent writers one is refused. Every method
 * throws SessionStoreError when the store cannot be reached. The writer then does not know whether the entry arrived; it sends the same append,
 * with the same token, to find out. The store forgets an ended session after a time that is set when the store is created.
 */
export interface SessionStore {
  /**
   * Adds one transition to a session's log. In the same step, updates the session's head (its summary) and its due time (see `Append`).
   * @throws RangeError when id, number, token and head do not fit together: the fault is the caller's
   */
  append (append: Append): Promise<Appended>
  /** Reads the transitions after number `after` in a session's log, in pages as `PAGE_SIZE` and `PAGE_BYTES` say. An unknown session has no page. */
  read (id: string, after: number): AsyncIterable<readonly StoredLogEntry[]>
  head (id: string): Promise<Head | undefined>
  /** Whether there is any session, of any owner, that has not ended. */
  hasOpen (): Promise<boolean>
  /** The number of an owner's sessions that have not ended. Child sessions are not counted. */
  countOpen (owner: string): Promise<number>
  /**
   * Lists sessions by `createdAt`, the newest first. For each page the store looks at a limited number of sessions, so a page that has a `next`
   * (the cursor of the following page) perhaps has fewer sessions than `limit`, or none.
   * @throws RangeError when the cursor is not one that a page has given
   */
  list (query: ListQuery): Promise<HeadPage>
  /**
   * Lets the replica (service process) `by` take over sessions that are due: nobody drives them (performs their effects) any more, or they have
   * waited too long for a person. For `lease` ms, by the store's clock, no other replica gets these sessions.
   * @param engines those that the replica has. Sessions of others stay due, for other replicas. @default all
   * @returns their ids, and in how many ms the next session is due: 0 when more are due than the limit, undefined when no session has a due time
   */
  take (by: string, limit: number, lease: number, engines?: ReadonlySet<string>): Promise<Taken>
  /**
   * Renews the leases of these sessions, as far as replica `by` still drives them: for `lease` ms from now, no replica can take them over.
   * @returns for each session that exists: the number of its last transition, and whether `by` still drives it
   */
  renew (by: string, ids: readonly string[], lease: number): Promise<readonly Renewed[]>
  /** Sends the followers of a session a live message that is not stored, such as a part of a model's answer. It never throws. */
  publish (id: string, live: JsonObject): void
  /**
   * Follows a session: the listener hears of each entry that any replica adds to the log from now on, and of each published message. When the
   * connection breaks, messages can get lost; `onGap` then says that the log has to be read again.
   * @returns a function that ends the following
   */
  watch (id: string, listener: SessionListener): Promise<() => void>
  /** The reason why the store cannot keep sessions now; undefined while it can. */
  problem (): string | undefined
  close (): Promise<void>
}

export interface Append {
  readonly id: string
  /** The position of the last transition in the log, as far as the writer knows; undefined creates the session. */
  readonly after: LogPosition | undefined
  readonly transition: LogEntry
  /** The stored form of the transition. */
  readonly entry: StoredLogEntry
  /** The session's head (the summary that lists show) after this transition. Owner, `createdAt`, parent and root never change after the first one. */
  readonly head: Head
  /**
   * How many ms after the append, by the store's clock, the session is due: any replica can then take it over. 'never' is for a session that has
   * ended, and removes its driver. 'keep' leaves due time and driver as they are. The store takes the driver from `head` only when `due` is a
   * number.
   */
  readonly due: number | 'never' | 'keep'
}

/**
 * The outcome of an append. 'ok': the transition was added. 'again': the log has it already, with the same token. An object: the append
 * was refused, and `top` is the position of the log's last entry.
 */
export type Appended = 'ok' | 'again' | { readonly top: LogPosition | undefined }

export interface ListQuery {
  /** Lists only the sessions of this owner. @default those of all owners */
  readonly owner?: string
  readonly statuses?: readonly Status[]
  /** Lists only sessions in which an effect waits for a person's approval. */
  readonly isAsking?: true
  /** Lists only sessions of this definition, such as `agents/helper`. */
  readonly definition?: string
  /** Lists only the descendants of this root session. Where neither `root` nor `withChildren` is given, child sessions are left out. */
  readonly root?: string
  /** Lists only the children of the session with this id. Used only together with `root` or `withChildren`, without which no child is listed. */
  readonly parent?: string
  /** Lists the owner's child sessions too. Used only together with `isAsking` and `owner`. */
  readonly withChildren?: true
  readonly limit: number
  /** The field `next` of the page before this one; absent for the first page. */
  readonly cursor?: string
}

export interface HeadPage {
  readonly heads: readonly Head[]
  readonly next: string | undefined
}

/** How many due sessions of other engines `take` steps over in one look, and how many of them it names. */
export const MAX_UNKNOWN = 1000

export interface Taken {
  readonly ids: readonly string[]
  readonly next: number | undefined
  /** Due sessions whose engine the replica does not have; left out when there are none. */
  readonly unknown?: readonly UnknownSession[]
}

/** A session whose engine a replica does not have. */
export interface UnknownSession {
  readonly id: string
  readonly engine: string
  /** How long it has been due, in ms by the store's clock. */
  readonly overdue: number
}

export interface Renewed {
  readonly id: string
  readonly seq: number
  readonly isYours: boolean
}

export interface SessionListener {
  onAppend (seq: number): void
  onLive (live: JsonObject): void
  onGap (): void
}

/** The error that the store cannot be reached, or refuses to keep sessions. The message says what happened, and why. */
export class SessionStoreError extends Error {
  override readonly name = 'SessionStoreError'
}

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

/** The form of a session's id. The id becomes a part of file names and Redis keys. */
const ID = /^[0-9a-f]{32}$/

/** Whether a text is a session's id: 32 hexadecimal digits. */
export function isSessionId (text: string): boolean {
  return ID.test(text)
}

/**
 * Checks that the parts of an append (the write of one entry to a session's log) name the same session and number, so that no writer can leave a
 * gap in the numbers.
 * @throws RangeError which says what is wrong; the caller made a mistake
 */
export function checkAppend ({ id, after, transition: { seq, token }, entry, head }: Append): void {
  if (!isSessionId(id)) throw new RangeError(`expected an id of 32 hexadecimal digits, not ${JSON.stringify(id.slice(0, 40))}`)
  if (seq !== (after?.seq ?? 0) + 1) throw new RangeError(`expected transition ${(after?.seq ?? 0) + 1} of session ${id}, not ${seq}`)
  if (entry.seq !== seq || head.id !== id || head.seq !== seq || head.token !== token) {
    throw new RangeError(`the head of session ${id} is not that of its transition ${seq}`)
  }
}

/** Whether an append follows the last entry of the log, by number and token. Of two concurrent writers, the second one fails here. */
export function isNext ({ after }: Append, top: LogPosition | undefined): boolean {
  return top?.seq === after?.seq && top?.token === after?.token
}

/**
 * Makes the answer to an append that does not follow the log's last entry: 'again' when the log has this very transition already (a retry), else
 * the position of the log's last entry.
 * @param token token of the stored entry with the same number, if any
 */
export function refusal ({ transition }: Append, top: LogPosition | undefined, token: string | undefined): Appended {
  return token === transition.token ? 'again' : { top: top && { seq: top.seq, token: top.token } }
}

/**
 * Runs `work`, and runs it again while it fails because the session store cannot be reached.
 * @param signal ends the retries when it aborts
 * @throws any other error of `work`
 */
export async function retryUntilClosed<T> (signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const shouldRetry = ({ error }: { readonly error: Error }): boolean => error instanceof SessionStoreError && !signal.aborted
  return await pRetry(work, { retries: Infinity, minTimeout: 100, maxTimeout: 2000, shouldRetry })
}
