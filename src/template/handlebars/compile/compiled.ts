import { type Provenance } from '../../explain/provenance.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

/** A compiled expression of a template. */
export interface Compiled {
  readonly evaluate: Evaluate
  /** The paths at which the expression's value is found. */
  readonly where: StaticPath
  /** The index of the reference, for a name that may be that of a tool. If the reference is linked when the template runs, the name is a tool. */
  readonly toolSlot?: number
  /** Facts about the expression, if it is a path and the template is compiled to be explained. */
  readonly traced?: TracedPath
}

/** Facts about a path for the explanation of a render. The path's value is a member, at any depth, of a value whose origin the scope knows. */
export interface TracedPath {
  /** Evaluates the path without reporting to the trace what it reads. Only the scope root still reports what is read from it. */
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

/**
 * The place of a name among the block parameters: `hops` is the number of blocks with parameters between, `index` its place in the block's list of
 * parameters.
 */
export interface FoundParam { readonly hops: number, readonly index: number, readonly value: StaticPath }
