import { type Provenance } from '../../explain/provenance.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

/** A compiled expression. */
export interface Compiled {
  readonly evaluate: Evaluate
  /** Where its value is found. */
  readonly where: StaticPath
  /** Its reference, for a name that may be a tool: it is one when the reference is linked. */
  readonly toolSlot?: number
  /** What is known of a path that is to be explained. */
  readonly traced?: TracedPath
}

/** What is known of a path whose value lies below something that a scope knows the provenance of. */
export interface TracedPath {
  /** Gives its value and tells the trace nothing; what is read at the scope root is told all the same. */
  readonly evaluate: Evaluate
  /** The names that lead there from its beginning. */
  readonly names: readonly string[]
  /** Where that comes from which it begins with. */
  readonly startOf: (scope: Scope) => Provenance
  /** Whether it begins with the context, and only data has its names: then it can be read without being evaluated. */
  readonly isPlain: boolean
  /** The link of a tool that may answer to its name. */
  readonly toolSlot?: number
}

/** Where a name is among the block parameters: how many blocks out, and which of the block's. */
export interface FoundParam { readonly hops: number, readonly index: number, readonly value: StaticPath }
