import { type TextPlace } from '../base/json.ts'

/**
 * Where other programs register things: JSON texts under keys such as `shenma:templates:evaluator:evaluate_quality`.
 * The service follows it, and writes to it only what `PUT` and `DELETE` ask for. One contract suite runs over every variant,
 * also over the one in memory that other tests use.
 */
export interface Store {
  /** The variant, as `/readyz` and the logs name it. */
  readonly variant: string
  /**
   * All keys that begin with `prefix`, in batches, for there may be millions; without order, and a key may come twice.
   * A key that is written or deleted meanwhile may come or not.
   * @throws StoreError when the listing could not be completed: then what came before says nothing of what is missing
   */
  scan (prefix: string): AsyncIterable<readonly string[]>
  /**
   * The values of these keys, one result per key, in their order, in as few round trips as the variant can.
   * @throws StoreError when the store could not be asked; a single bad value is a result, not an error
   */
  read (keys: readonly string[]): Promise<readonly StoredValue[]>
  /**
   * Whether these keys exist, in their order, without reading their values.
   * @throws StoreError when the store could not be asked
   */
  has (keys: readonly string[]): Promise<readonly boolean[]>
  /**
   * Stores `text` under a key, whole or not at all, so that no reader ever sees a part of it. What expires under that key
   * no longer does.
   * @param expected what must be stored there, else nothing is written; left out: whatever
   * @throws StoreError when the store could not be asked; then the text may be stored or not
   */
  write (key: string, text: string, expected?: Expected): Promise<WriteOutcome>
  /**
   * Removes a key.
   * @param expected as in `write`
   * @throws StoreError as `write`
   */
  remove (key: string, expected?: Expected): Promise<RemoveOutcome>
  /**
   * Calls `listener` with every key that is written, deleted or expires from now on, gathered over a few ms; `undefined`
   * means "anything may have changed", as it does whenever the way in which changes arrive begins, ends or is mended.
   * A variant whose changes are `polled` tells of nothing else: the caller polls. Watch first, then list, and nothing is
   * missed.
   * @returns a function that ends the watch
   * @throws StoreError when there is nothing to watch
   */
  watch (listener: ChangeListener): Promise<() => Promise<void>>
  /**
   * The nodes that hold the keys between them, each of which may lose all of its own; left out by a variant that loses all
   * keys or none.
   */
  readonly nodes?: StoreNodes
  /** What is known of the connection now; asks nothing. */
  status (): StoreStatus
  /** Ends connections and watches, within a bounded time. */
  close (): Promise<void>
}

/** The nodes of a store, as they are now. */
export interface StoreNodes {
  names (): readonly string[]
  /** The node that a key lies on; `undefined` when none is known. */
  of (key: string): string | undefined
}

/**
 * Receives the keys that changed; `undefined` means that anything may have changed, the store itself too: what it was told
 * of single keys before, and has not read yet, may be of the store as it was before an outage.
 * @param since when the first of these changes arrived, on the clock of `performance.now()`, in ms
 */
export type ChangeListener = (keys: ReadonlySet<string> | undefined, since: number) => void

/** One key's value, or why there is none. */
export type StoredValue =
  | { readonly kind: 'text', readonly text: string, readonly expiresAt?: number }
  | { readonly kind: 'missing' }
  /** A value that is stored and cannot be used: a wrong Redis type, over the size limit, invalid UTF-8, broken YAML. */
  | {
    readonly kind: 'bad'
    readonly reason: string
    readonly place?: TextPlace
    readonly hint?: string
    /** The code of the diagnostic for this value, where it has a code of its own. */
    readonly code?: string
    /** Set when this process has no right to read the key. */
    readonly isWithheld?: true
  }

/** Whether there may be a value that this process may not read. */
export function isWithheld (value: StoredValue): boolean {
  return value.kind === 'bad' && value.isWithheld === true
}

/** What a write found when it read before: a key without a value, or exactly this text. */
export type Expected = Extract<StoredValue, { kind: 'text' | 'missing' }>

/**
 * Why nothing was changed: something else is stored, this process may not write there, no such key can be stored there, or
 * the store takes no change now (`refused`), or keeps what is stored as others have written it (`kept`).
 */
export type WriteRefusal = 'conflict' | 'read-only' | 'impossible' | { readonly kind: 'refused' | 'kept', readonly reason: string }

/** What became of a write. */
export type WriteOutcome = 'created' | 'replaced' | WriteRefusal

/** What became of a removal. */
export type RemoveOutcome = 'removed' | 'missing' | WriteRefusal

export interface StoreStatus {
  readonly connected: boolean
  /** How changes arrive: the variant tells at once, or the service has to ask. */
  readonly changes: 'pushed' | 'polled'
  /** The last trouble, when there is one. */
  readonly problem?: string
}

/** The error that the store could not be asked. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** Values above this size are bad, in bytes. */
export const MAX_VALUE_BYTES = 1024 * 1024
