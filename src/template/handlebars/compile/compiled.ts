import { type Provenance } from '../../explain/provenance.ts'
import { type Evaluate, type Scope } from './scope.ts'
import { type StaticPath } from './static-path.ts'

/** A compiled expression of a template. */
export interface Compiled {
  readonly evaluate: Evaluate
  /** The paths at which the expression's value is found. */
  readonly where: StaticPath
  /** The index in `Rendering.links` of a name that can be that of a tool. If a tool stands there when the template runs, the name means that tool. */
  readonly toolSlot?: number
  /** Facts about the expression, if it is a path and the template is compiled to be explained. */
  readonly traced?: TracedPath
}

/** Facts about a path for the explanation of a render. The path's value is a member, at any depth, of a value whose provenance the scope has. */
export interface TracedPath {
  /** Evaluates the path without reporting to the trace what it reads. Only the scope root still reports what is read from it. */
  readonly evaluate: Evaluate
  /** The names that lead from the beginning of the path to its value. */
  readonly names: readonly string[]
  /** Gives the provenance of the value with which the path begins. */
  readonly startOf: (scope: Scope) => Provenance
  /**
   * Whether the path begins with the context, and its names can only be members of data, never JavaScript's own properties. Then it can be read without
   * being evaluated.
   */
  readonly isPlain: boolean
  /** The index in `Rendering.links` at which a tool stands if one has the path's name. */
  readonly toolSlot?: number
}

/**
 * The place of a name among the block parameters: `hops` is the number of blocks with parameters between the use of the name and the block that declares
 * it, `index` the place of the name in that block's list of parameters.
 */
export interface FoundParam { readonly hops: number, readonly index: number, readonly value: StaticPath }
