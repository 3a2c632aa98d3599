import type { TextPlace } from '../base/json.ts'

/**
 * The store in which other programs register prompts, tools and other entries: JSON texts under keys such as
 * `shenma:templates:evaluator:evaluate_quality`. The service follows its changes, and writes only what `PUT` and `DELETE` ask for. The variants are a
 * folder and Redis; one suite of tests runs over each, and over the variant in memory that other tests use.
 */
export interface Store {
  /** Such as `redis`, in `/readyz` and in the logs. */
  readonly variant: string
  /**
   * Lists all keys that begin with `prefix`, in batches, since there can be millions. The keys come in no order, and a key can come twice. Whether a key
   * comes that is written or deleted during the listing is not certain.
   * @throws StoreError when the listing could not be completed: then keys exist, perhaps, that did not come
   */
  scan (prefix: string): AsyncIterable<readonly string[]>
  /**
   * Reads the values of keys: one result for each key, in their order, in as few round trips as the variant can.
   * @throws StoreError when the store could not be asked; a single bad value is a result, not an error
   */
  read (keys: readonly string[]): Promise<readonly StoredValue[]>
  /** Tells of each key whether it exists, in the order of the keys, without reading values. @throws StoreError when the store could not be asked */
  has (keys: readonly string[]): Promise<readonly boolean[]>
  /**
   * Stores `text` under a key, whole or not at all, so that no reader ever sees a part of it. The new value has no time to live, even if the earlier
   * one had.
   * @param expected the value that must be stored there now, otherwise nothing is written; left out when any value will do
   * @throws StoreError when the store could not be asked; then nobody knows whether the text is stored
   */
  write (key: string, text: string, expected?: Expected): Promise<WriteOutcome>
  /**
   * Removes a key.
   * @param expected as in `write`
   * @throws StoreError as `write`
   */
  remove (key: string, expected?: Expected): Promise<RemoveOutcome>
  /**
   * From now on, calls `listener` with the keys that are written or deleted, or that expire; several changes within a few ms become one call. A call
   * with `undefined` means that every key has perhaps changed. It also comes when the reporting of changes begins, stops or works again. While changes
   * are `polled`, no other call comes, and the caller must poll. A caller that first watches and then lists misses nothing.
   * @returns a function that ends the watch
   * @throws StoreError when there is nothing to watch
   */
  watch (listener: ChangeListener): Promise<() => Promise<void>>
  /** As in a cluster, where one node can lose all of its keys. Absent for a store with a single place. */
  readonly nodes?: { names (): readonly string[], of (key: string): string | undefined }
  /** As it is known now; the store is not asked. */
  status (): StoreStatus
  /** Within a bounded time. */
  close (): Promise<void>
}

/**
 * Receives the keys that have changed. `undefined` means that every key has perhaps changed. Perhaps the store itself was replaced: keys that were
 * reported before, and that the listener has not read yet, can belong to the earlier store.
 * @param since when the first of these changes arrived, on the clock of `performance.now()`, in ms
 */
export type ChangeListener = (keys: ReadonlySet<string> | undefined, since: number) => void

export type StoredValue =
  | { readonly kind: 'text', readonly text: string, readonly expiresAt?: number }
  | { readonly kind: 'missing' }
  /** A wrong Redis type, too large, invalid UTF-8, broken YAML. */
  | {
    readonly kind: 'bad'
    readonly reason: string
    readonly place?: TextPlace
    readonly hint?: string
    /** Such as `ROLE_NESTED`. */
    readonly code?: string
    /** This process has no right to read the key. */
    readonly isWithheld?: true
  }

/** Nobody can say whether a withheld value exists. */
export function isWithheld (value: StoredValue): boolean {
  return value.kind === 'bad' && value.isWithheld === true
}

/** The store refuses the write when it holds another value by now. */
export type Expected = Extract<StoredValue, { kind: 'text' | 'missing' }>

/**
 * Why a write has changed nothing. `conflict`: another value is stored than was expected. `read-only`: this process is not allowed to write.
 * `impossible`: the store can have no such key. `refused`: the store takes no changes now. `kept`: the stored value has a form that the service does
 * not write.
 */
export type WriteRefusal = 'conflict' | 'read-only' | 'impossible' | { readonly kind: 'refused' | 'kept', readonly reason: string }

export type WriteOutcome = 'created' | 'replaced' | WriteRefusal

export type RemoveOutcome = 'removed' | 'missing' | WriteRefusal

export interface StoreStatus {
  readonly connected: boolean
  readonly changes: 'pushed' | 'polled'
  readonly problem?: string
}

export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** The greatest size of a value, in bytes; a larger one cannot be used. */
export const MAX_VALUE_BYTES = 1024 * 1024

export interface StoreKeys {
  readonly prefix: string
  readonly kinds: readonly KeyKind[]
}

export interface KeyKind {
  /** The name, such as `templates`, follows the prefix in keys, and is that of a folder. */
  readonly key: string
  /** Such as `SKILL.md`: its key is that of the folder around it, its value the unchanged text. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder store are values of this kind, too. */
  readonly hasDotprompt?: boolean
  /** A listing of the whole store leaves out keys that are read on demand. */
  readonly onDemand?: boolean
}

/** Ends with a colon, so that `shenma:toolsX` does not begin with it. */
export function kindPrefix (keyPrefix: string, kind: string): string {
  return `${keyPrefix}${kind}:`
}

/** Publishers can also write `team:greet` for `team.greet`. */
export function toPath (id: string): string {
  return id.replaceAll(':', '.')
}

/** `evaluator.evaluate_quality` for `shenma:templates:evaluator:evaluate_quality`. */
export function keyToPath (key: string, prefix: string): string {
  return toPath(key.slice(prefix.length))
}

/** The inverse of `keyToPath`, as long as no segment of the key has a dot. */
export function pathToKey (path: string, prefix: string): string {
  return prefix + path.replaceAll('.', ':')
}

/** As templates name a tool; a character that no identifier can have becomes `_`. */
export function keyToFunction (key: string, prefix: string): string {
  return key.slice(prefix.length).replace(/[^\p{L}\p{Nd}_]/gu, '_')
}
