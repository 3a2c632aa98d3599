import { type Log } from '../base/log.ts'
import { type Store, type StoreStatus } from '../store/store.ts'
import { type Language } from '../template/language.ts'
import { type ToolReader } from '../tool/definition/tool-reader.ts'
import { type Environs } from './kinds/environ/environs.ts'
import { type Kind } from './kinds/kind.ts'
import { type RegisterTools } from './link/build-generation.ts'

/** What the registry works with. */
export interface RegistryOptions {
  /** The table of kinds, with those of extensions, prompts and tools. */
  readonly kinds: readonly Kind[]
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** The pause between two refreshes while the store does not push changes, in ms. */
  readonly pollInterval: number
  /** How long a kind that became empty without deletes being seen is held, in ms. */
  readonly emptyHold: number
  readonly log: Log
  readonly environs: Environs
  /** Reads tools within what the operator allows them to do. */
  readonly toolReader: ToolReader
  readonly registerTools: RegisterTools
  /**
   * Told how long a batch of changes took, in ms: from the moment when the first push of the batch reached this process
   * to the moment when requests are answered from all of it. The way from the writer to this process is not in it.
   */
  readonly onServed?: (milliseconds: number) => void
}

/** The health of the registry, for readiness. */
export interface RegistryStatus {
  /** Whether everything has been read at least once. */
  readonly loaded: boolean
  readonly store: StoreStatus & { readonly variant: Store['variant'] }
  /** When everything was last verified against the store; `undefined` before the first time. */
  readonly verifiedAt: Date | undefined
  /** Why the last refresh failed, when it did. */
  readonly problem: string | undefined
  /** The keys of the kinds whose entries are held although the store shows none. */
  readonly held: readonly string[]
  /** The nodes of the store that show no key, and whose keys are held. */
  readonly heldNodes: readonly string[]
  /** Why labels are not served, where the store does not let this process read what they mean. */
  readonly labelsProblem: string | undefined
}
