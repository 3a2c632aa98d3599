import { type Provenance } from '../../explain/provenance.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

/** A compiled expression of a template. */
export interface Compiled {
  readonly evaluate: Evaluate
  /** The paths at which the expression's value is found. */
  readonly where: StaticPath
  /** The index of the reference, for a name that may be a tool. The name is a tool when the reference is linked. */
  readonly toolSlot?: number
  /** Facts about the expression, if it is a path and the template is compiled to be explained. */
  readonly traced?: TracedPath
}

/** Facts about a path for the explanation of a render. Its value lies below a value of which the scope knows the origin. */
export interface TracedPath {
  /** Evaluates the path without reporting it to the trace. Only reads at the scope root are reported all the same. */
  readonly evaluate: Evaluate
  /** The names that lead from the beginning of the path to its value. */
  readonly names: readonly string[]
  /** Gives the origin of the value with which the path begins. */
  readonly startOf: (scope: Scope) => Provenance
  /** Whether the path begins with the context, and has only names that only data can have. Then it can be read without being evaluated. */
  readonly isPlain: boolean
  /** The index of the link of a tool that may have the path's name. */
  readonly toolSlot?: number
}

/** A name that was found among the block parameters: how many blocks further out, and at which index. */
export interface FoundParam { readonly hops: number, readonly index: number, readonly value: StaticPath }
