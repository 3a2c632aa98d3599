import { type JsonObject } from '../base/json.ts'
import { type Head, type Position, type Status, type Transition } from './model.ts'

/** The largest number of transitions in a page of a log. */
export const PAGE_SIZE = 500

/** The size of a page of a log, in bytes: a page that has reached it takes no more, though it has fewer than `PAGE_SIZE` transitions. */
export const PAGE_BYTES = 256 * 1024

/** A transition in the form in which a store keeps it. The store reads only its number. */
export interface Entry {
  readonly seq: number
  /** The JSON of the transition. */
  readonly text: string
  /** The seal (an HMAC) that proves which service wrote the transition; empty where no secret is configured. */
  readonly seal: string
}

/**
 * A session store keeps the logs of sessions. Variants: memory, a folder, Redis (one server, Sentinel, Cluster). One
 * contract suite tests that all behave alike. The log is the fence: an append names the transition it follows, so of two
 * concurrent writers one is refused.
 * Every method throws SessionStoreError when the store cannot be reached; whether an append arrived is unknown then, and
 * the same append again (same token) finds out. An ended session is forgotten after the time that the store was given.
 */
export interface SessionStore {
  /**
   * Adds one transition, with the head and the due time that go with it, in one step.
   * @throws RangeError when id, number, token and head do not fit together: the fault is the caller's
   */
  append (append: Append): Promise<Appended>
  /** Reads the transitions after number `after`, in pages of at most 500, bounded in bytes; nothing for a session that is unknown. */
  read (id: string, after: number): AsyncIterable<readonly Entry[]>
  head (id: string): Promise<Head | undefined>
  /** Whether any session of any owner has not ended. */
  hasOpen (): Promise<boolean>
  /** How many sessions of an owner have not ended. Child sessions are not counted. */
  countOpen (owner: string): Promise<number>
  /**
   * Lists sessions by `createdAt`, the newest first. A page may have fewer sessions than `limit`, even none, and still a
   * `next`: a store looks at a bounded number of sessions for each page.
   * @throws RangeError when no page has given the cursor
   */
  list (query: ListQuery): Promise<SessionPage>
  /**
   * Takes sessions that are due: each is leased to replica `by` for `lease` ms, by the store's clock.
   * @returns their ids, and in how many ms the next one is due, 0 when more are due than the limit, undefined when none ever is
   */
  take (by: string, limit: number, lease: number): Promise<{ readonly ids: readonly string[], readonly next: number | undefined }>
  /**
   * Renews the leases of those named sessions that replica `by` still drives.
   * @returns for each that exists, the number of its last transition, and whether it is still driven by `by`
   */
  renew (by: string, ids: readonly string[], lease: number): Promise<readonly Renewed[]>
  /** Sends the followers of a session a live message that is not stored, such as a part of a model's answer. Never throws. */
  publish (id: string, live: JsonObject): void
  /**
   * Follows a session: the listener hears of each later append, from any replica, and of each published message. Messages
   * may be lost with a connection; `onGap` then says that the log has to be read again.
   * @returns a function that ends the following
   */
  watch (id: string, listener: SessionListener): Promise<() => void>
  /** The reason why the store cannot keep sessions now; undefined while it can. */
  problem (): string | undefined
  close (): Promise<void>
}

export interface Append {
  readonly id: string
  /** The last transition that the writer knows; undefined creates the session. */
  readonly after: Position | undefined
  readonly transition: Transition
  /** The stored form of the transition. */
  readonly entry: Entry
  /** The head after this transition. Its owner, `createdAt`, parent and root are the same in every append of a session. */
  readonly head: Head
  /**
   * The time in ms, by the store's clock, after which the session is due and any replica may take it. 'never' is for a session
   * that has ended, and removes its driver; 'keep' leaves due time and driver as they are. The head's driver counts with a number only.
   */
  readonly due: number | 'never' | 'keep'
}

/** The outcome of an append. 'again': the log has this transition already, with the same token. An object: refused; `top` is the log's last transition. */
export type Appended = 'ok' | 'again' | { readonly top: Position | undefined }

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
  /** Lists only the children of the session with this id. */
  readonly parent?: string
  /** Lists the owner's child sessions too. Used only together with `isAsking` and `owner`. */
  readonly withChildren?: true
  readonly limit: number
  /** The `next` of the previous page. */
  readonly cursor?: string
}

export interface SessionPage {
  readonly heads: readonly Head[]
  readonly next: string | undefined
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

/** The store cannot be reached or refuses; the message says which and why. */
export class SessionStoreError extends Error {
  override readonly name = 'SessionStoreError'
}
