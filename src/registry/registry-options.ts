import { type Log } from '../base/log.ts'
import { type Store, type StoreStatus } from '../store/store.ts'
import { type Language } from '../template/language.ts'
import { type ToolReader } from '../tool/definition/tool-reader.ts'
import { type Environs } from './kinds/environ/environs.ts'
import { type Kind } from './kinds/kind.ts'
import { type RegisterTools } from './link/build-generation.ts'

/** The parts and settings from which the registry is made. */
export interface RegistryOptions {
  /** The table of kinds. It must have those of extensions, prompts and tools. */
  readonly kinds: readonly Kind[]
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** The pause between two refreshes while the store does not push changes, in ms. */
  readonly pollInterval: number
  /** How long the entries of a kind stay served when the store suddenly lists none of them and did not report their deletion, in ms. */
  readonly emptyHold: number
  readonly log: Log
  readonly environs: Environs
  /** Reads the registrations of tools, within what the operator allows. */
  readonly toolReader: ToolReader
  readonly registerTools: RegisterTools
  /** What is wrong with the tools that an MCP server offers now, by the id of its registration. */
  readonly toolProblems?: (id: string) => readonly string[]
  /**
   * Called with the time that a batch of changes took, in ms: from the arrival of the batch's first message at this process until requests are answered
   * from the whole batch. The time from the writer to this process is not included.
   */
  readonly onServed?: (milliseconds: number) => void
}

/** The state of the registry, from which the service tells whether it is ready. */
export interface RegistryStatus {
  /** Whether every kind has been read at least once. */
  readonly loaded: boolean
  readonly store: StoreStatus & { readonly variant: Store['variant'] }
  /** The time when all entries were last compared with the store; `undefined` before the first time. */
  readonly verifiedAt: Date | undefined
  /** The reason why a read of the store has failed; `undefined` when none has failed since all entries were last compared with the store. */
  readonly problem: string | undefined
  /** The keys of the kinds whose entries stay served although the store lists none of them. */
  readonly held: readonly string[]
  /** The nodes of a cluster that list no key, and whose entries stay served. */
  readonly heldNodes: readonly string[]
  /** Why no labels of prompts (`production`) are served: the store does not let this process read what labels stand for. `undefined` when it does. */
  readonly labelsProblem: string | undefined
}
