import { type JsonObject } from '../base/json.ts'
import { type Head, type Position, type Status, type Transition } from './model.ts'

/** How many transitions a page of a log has at most. */
export const PAGE_SIZE = 500

/** What a page of a log is filled up to, in bytes, though it has fewer. */
export const PAGE_BYTES = 256 * 1024

/** A transition as a store keeps it, which reads nothing of it but its number. */
export interface Entry {
  readonly seq: number
  /** Its JSON. */
  readonly text: string
  /** By which its writer is known; empty without a secret. */
  readonly seal: string
}

/**
 * Where sessions are kept. Variants: memory, a folder, Redis (one server, Sentinel, Cluster). All behave alike: one
 * contract suite holds them. The log is the fence: an append names the transition it follows, and of two writers one is
 * refused.
 * Every method throws SessionStoreError when the store cannot be reached; whether an append arrived is unknown then, and
 * the same append again (same token) finds out. An ended session is forgotten after the time that the store was given.
 */
export interface SessionStore {
  /**
   * Adds one transition, with the head and the due time that go with it, in one step.
   * @throws RangeError when id, number, token and head do not fit together: the fault is the caller's
   */
  append (append: Append): Promise<Appended>
  /** The transitions behind number `after`, in pages of at most 500, bounded in bytes; nothing for a session that is unknown. */
  read (id: string, after: number): AsyncIterable<readonly Entry[]>
  head (id: string): Promise<Head | undefined>
  /** Whether any session has not ended, of whoever. */
  hasOpen (): Promise<boolean>
  /** How many sessions of an owner have not ended; children count with the one above all. */
  countOpen (owner: string): Promise<number>
  /**
   * Sessions, the newest first, by `createdAt`. A page may have fewer than `limit`, even none, and a `next`: a store looks at
   * a bounded number of sessions for each.
   * @throws RangeError when the cursor is none
   */
  list (query: ListQuery): Promise<SessionPage>
  /**
   * Takes sessions that are due: each belongs to `by` for `lease` ms, by the store's clock.
   * @returns their ids, and in how many ms the next one is due, 0 when more are due than the limit, undefined when none ever is
   */
  take (by: string, limit: number, lease: number): Promise<{ readonly ids: readonly string[], readonly next: number | undefined }>
  /**
   * Makes the lease of sessions longer, of those that are still driven by `by`.
   * @returns for each that exists, the number of its last transition, and whether it is still driven by `by`
   */
  renew (by: string, ids: readonly string[], lease: number): Promise<readonly Renewed[]>
  /** Tells the followers of a session something that is not kept: parts of a model's answer. Never throws. */
  publish (id: string, live: JsonObject): void
  /**
   * Follows a session: the listener hears of each append that it follows, in any replica, and of what is published. Word
   * may be lost with a connection; `onGap` then says that the log is to be read again.
   * @returns ends it
   */
  watch (id: string, listener: SessionListener): Promise<() => void>
  /** Why sessions cannot be kept now, if so. */
  problem (): string | undefined
  close (): Promise<void>
}

export interface Append {
  readonly id: string
  /** The last transition that the writer knows; undefined creates the session. */
  readonly after: Position | undefined
  readonly transition: Transition
  /** What is kept of the transition. */
  readonly entry: Entry
  /** Its owner, `createdAt`, parent and root are the same in every append of a session. */
  readonly head: Head
  /**
   * In how many ms the session is due, by the store's clock, so that a replica takes it; 'never' for one that has ended, which
   * nobody drives then; 'keep' leaves due time and driver as they are. The head's driver counts with a number only.
   */
  readonly due: number | 'never' | 'keep'
}

/** 'again': it is there already, by the same token. Else the last transition that is there, if any. */
export type Appended = 'ok' | 'again' | { readonly top: Position | undefined }

export interface ListQuery {
  /** The owner's sessions only; left out, all. */
  readonly owner?: string
  readonly statuses?: readonly Status[]
  /** Those alone in which something waits for a person. */
  readonly isAsking?: true
  /** As `agents/helper`. */
  readonly definition?: string
  /** Children of this session above all others, and of theirs. Where neither is named, children are left out. */
  readonly root?: string
  /** Lists only the children of the session with this id. */
  readonly parent?: string
  /** Children of the owner beside the others. With `isAsking` and `owner` alone. */
  readonly withChildren?: true
  readonly limit: number
  /** `next` of the page before. */
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

/** A store that cannot be reached, or that refuses; the message says which and why. */
export class SessionStoreError extends Error {
  override readonly name = 'SessionStoreError'
}
