import { type Syntax } from '../program.ts'
import { type Kind } from './kinds.ts'

/** What the dot may be at a place: a value of a kind, the scope root, or something that nobody should rely on. */
export type Dot = Kind | 'root' | 'unknown'

/** What can be written at a place. */
export interface Site {
  readonly syntax: Syntax
  readonly dot: Dot
  /** Go: a prompt used as a partial, before any `with` or `range`: the names of the root can be read from its dot. */
  readonly hasRootNames: boolean
  /** Go: `$` is the scope root. */
  readonly isMain: boolean
  /** Go: variables that can be assigned. Handlebars: block parameters. */
  readonly variables: ReadonlyArray<{ readonly name: string, readonly kind: Kind | 'unknown' }>
  /** Handlebars: what `../`, `../../` … are. */
  readonly outer: readonly Dot[]
  readonly isInLoop: boolean
  /** Handlebars: whether the partial was called with a block. */
  readonly hasBlock: boolean
  /** Partials that may be called here. */
  readonly partials: readonly Callable[]
  readonly depth: number
}

/** A partial, and what it expects as its dot. */
export interface Callable { readonly name: string, readonly dot: Dot, readonly hasBlock: boolean }
