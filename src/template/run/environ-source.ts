import { type Json } from '../../base/json.ts'

/** The value of a shared variable, with its size in the store, in bytes. */
export interface EnvironValue { readonly value: Json, readonly bytes: number }

/**
 * The shared variables (environs: JSON values that programs publish for all prompts) as a run reads them. Their names are dotted paths, such as
 * `vscode.rules`; no segment has a dot.
 */
export interface EnvironSource {
  /** Whether a shared variable of exactly that name exists. */
  has (name: string): boolean
  /** Whether shared variables exist below a name (`name.…`). */
  hasBelow (name: string): boolean
  /** Whether shared variables of a module (a first segment) exist that this caller is not allowed to see; left out where nothing is hidden from anybody. */
  hides? (name: string): boolean
  /** The names of all shared variables below a name, sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined
  /** The segments that directly follow `name.` (all first segments for `''`), sorted. */
  segmentsBelow (name: string): readonly string[]
  /** The value of a shared variable if it is in memory and fresh; `undefined` when it must be fetched. */
  cached (name: string): EnvironValue | undefined
  /** Fetches values in one round trip. A name that no longer exists is left out of the result. Throws STORE_UNAVAILABLE. */
  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>>
}
