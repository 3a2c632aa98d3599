import { type Json } from '../../base/json.ts'

/** A shared variable's value and its size in the store, in bytes. */
export interface EnvironValue { readonly value: Json, readonly bytes: number }

/** The shared variables as a run sees them. Names are dotted paths: `vscode.rules`; no segment holds a dot. */
export interface EnvironSource {
  /** Whether that very key exists. */
  has (name: string): boolean
  /** Whether keys exist below it (`name.…`). */
  hasBelow (name: string): boolean
  /** Whether a first segment is published and kept from this caller; left out where nothing is kept from anybody. */
  hides? (name: string): boolean
  /** The names of all keys below it, sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined
  /** Segments that directly follow `name.` (or all first segments, for `''`), sorted. */
  segmentsBelow (name: string): readonly string[]
  /** The value if it is in memory and fresh; `undefined` when it must be fetched. */
  cached (name: string): EnvironValue | undefined
  /** Values by name, in one round trip; a name that no longer exists is left out. Throws STORE_UNAVAILABLE. */
  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>>
}
