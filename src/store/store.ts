import type { TextPlace } from '../base/json.ts'

/**
 * The store in which other programs register prompts, tools and other entries: JSON texts under keys such as
 * `shenma:templates:evaluator:evaluate_quality`. The service follows its changes, and writes only what `PUT` and `DELETE` ask for. The variants are a
 * folder and Redis; one suite of tests runs over each, and over the variant in memory that other tests use.
 */
export interface Store {
  /** The name of this variant of the store, such as `redis`, in `/readyz` and in the logs. */
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
  /**
   * The nodes over which the keys are spread, as in a cluster, where one node can lose all of its keys while the others lose none. Absent for a store
   * with a single place for all keys.
   */
  readonly nodes?: StoreNodes
  /** The state of the connection as it is known now; the store is not asked. */
  status (): StoreStatus
  /** Ends connections and watches, within a bounded time. */
  close (): Promise<void>
}

/** The nodes of a store, such as a cluster, as they are now. */
export interface StoreNodes {
  names (): readonly string[]
  /** The node that has a key; `undefined` when none is known. */
  of (key: string): string | undefined
}

/**
 * Receives the keys that have changed. `undefined` means that every key has perhaps changed. Perhaps the store itself was replaced: keys that were
 * reported before, and that the listener has not read yet, can belong to the earlier store.
 * @param since when the first of these changes arrived, on the clock of `performance.now()`, in ms
 */
export type ChangeListener = (keys: ReadonlySet<string> | undefined, since: number) => void

/** The value of a key, or the reason why there is none. */
export type StoredValue =
  | { readonly kind: 'text', readonly text: string, readonly expiresAt?: number }
  | { readonly kind: 'missing' }
  /** A value that is stored and cannot be used: a wrong Redis type, too large, invalid UTF-8, broken YAML. */
  | {
    readonly kind: 'bad'
    readonly reason: string
    readonly place?: TextPlace
    readonly hint?: string
    /** The code of this kind of mistake, for a kind that has a code of its own, such as `ROLE_NESTED`. */
    readonly code?: string
    /** Set when this process has no right to read the key. */
    readonly isWithheld?: true
  }

/** Whether a value was not read because this process has no right to. Nobody can say whether it exists. */
export function isWithheld (value: StoredValue): boolean {
  return value.kind === 'bad' && value.isWithheld === true
}

/** The value that a writer expects under a key: none, or exactly this text. The store refuses the write when it holds another value by now. */
export type Expected = Extract<StoredValue, { kind: 'text' | 'missing' }>

/**
 * Why a write has changed nothing. `conflict`: another value is stored than was expected. `read-only`: this process is not allowed to write.
 * `impossible`: the store can have no such key. `refused`: the store takes no changes now. `kept`: the stored value has a form that the service does
 * not write.
 */
export type WriteRefusal = 'conflict' | 'read-only' | 'impossible' | { readonly kind: 'refused' | 'kept', readonly reason: string }

/** The outcome of a write. */
export type WriteOutcome = 'created' | 'replaced' | WriteRefusal

/** The outcome of a removal. */
export type RemoveOutcome = 'removed' | 'missing' | WriteRefusal

export interface StoreStatus {
  readonly connected: boolean
  /** How changes arrive: the variant reports them at once (`pushed`), or the service has to ask (`polled`). */
  readonly changes: 'pushed' | 'polled'
  /** The last trouble with the store; left out when there is none. */
  readonly problem?: string
}

/** The error that the store could not be asked. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

/** The greatest size of a value, in bytes; a larger one cannot be used. */
export const MAX_VALUE_BYTES = 1024 * 1024

/** The keys that the service reads in a store: `shenma:templates:…`. */
export interface StoreKeys {
  /** The beginning of every key: `shenma:`. */
  readonly prefix: string
  readonly kinds: readonly KeyKind[]
}

/** One kind of keys, such as those of prompts. */
export interface KeyKind {
  /** The name of the kind, such as `templates`. Keys have it after the prefix. A store over a folder has a folder of this name. */
  readonly key: string
  /** The name of the kind's own file, such as `SKILL.md`. The key is that of the folder around the file; the value is the file's text, unchanged. */
  readonly file?: string
  /** Whether Dotprompt's `.prompt` files in a folder store are values of this kind, too. */
  readonly hasDotprompt?: boolean
  /** Whether a listing of the whole store leaves out the keys of this kind. They are read by name, or listed with a prefix that names the kind. */
  readonly onDemand?: boolean
}

/** The prefix of all keys of a kind: `shenma:templates:`. It ends with a colon, so that `shenma:toolsX` does not begin with it. */
export function kindPrefix (keyPrefix: string, kind: string): string {
  return `${keyPrefix}${kind}:`
}

/** An id in its dotted form. Publishers can also write an id as keys have it: `team:greet` is the same as `team.greet`. */
export function toPath (id: string): string {
  return id.replaceAll(':', '.')
}

/** The dotted id in a key: `evaluator.evaluate_quality` for `shenma:templates:evaluator:evaluate_quality`. */
export function keyToPath (key: string, prefix: string): string {
  return toPath(key.slice(prefix.length))
}

/** The key of a dotted id, the inverse of `keyToPath`, as long as no segment of the key has a dot. */
export function pathToKey (path: string, prefix: string): string {
  return prefix + path.replaceAll('.', ':')
}

/** The name that templates use for the tool with a key: `codebase_lookup_ref`. A character that no identifier can have becomes `_`. */
export function keyToFunction (key: string, prefix: string): string {
  return key.slice(prefix.length).replace(/[^\p{L}\p{Nd}_]/gu, '_')
}
