import { type EnteredPartial, type Link } from '../../language.ts'
import { type Run } from '../../run/run.ts'
import { type Provenance } from '../../explain/provenance.ts'
import { type Header } from '../../explain/trace.ts'
import { type LazyNode, type Value } from '../../value.ts'

/** A compiled sequence of statements, which gives its text. */
export type Render = (scope: Scope) => string

/** A compiled expression, which gives its value. */
export type Evaluate = (scope: Scope) => Value

/** An inline partial: its body, and the scope around the block that defines it (none for the template itself). */
export interface Inline { readonly render: Render, readonly defined: Scope | undefined, readonly rendering: Rendering }

/** The block that `{{> @partial-block}}` runs: its body, the scope of the call that passed the block, and the `@partial-block` of that scope. */
export interface PartialBody { readonly render: Render, readonly scope: Scope, readonly outer: PartialBody | undefined }

/** The state of one run of one template. */
export interface Rendering {
  readonly run: Run
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  /** The context with which the template began. */
  readonly dot: Value
  /** Whether the template began with another context than the scope root. Such a context can lack names that the root has. */
  readonly isPartial: boolean
  /** The inline partials that are defined now. Code that replaces the map must restore it. */
  inlines: ReadonlyMap<string, Inline> | undefined
  /** The partials that the template has already run, by their index in `links`. */
  partials: Array<EnteredPartial | undefined> | undefined
  /** The id of the prompt whose template it is, if that is a partial. */
  partial: string | undefined
}

/** The `@` variables. `each`, and a partial with a block, begin a new set of them; `@../index` reads the one before. */
export class LoopData {
  index: Value | undefined
  key: Value | undefined
  first: Value | undefined
  last: Value | undefined
  body: PartialBody | undefined
  readonly outer: LoopData | undefined
  /** The provenance of the element, in a loop that is explained. */
  provenance: Provenance | undefined

  constructor (outer: LoopData | undefined) {
    this.outer = outer
    this.index = outer?.index
    this.key = outer?.key
    this.first = outer?.first
    this.last = outer?.last
    this.body = outer?.body
    this.provenance = undefined
  }
}

/** The values of the block parameters, `as |first second|`. */
export interface Params {
  first: Value
  second: Value | undefined
  fromTool: boolean
  readonly outer: Params | undefined
  /** The provenance of the first parameter's value, in a block that is explained. */
  provenance: Provenance | undefined
}

/** The scope in which a block runs. A loop has one scope, which is changed for each round, because nothing outlives a round. */
export class Scope {
  context: Value
  /**
   * The scope to which `../` leads: the one around the block. In the package, a block whose context equals the one around it opens no level, so that
   * what `../` means depends on data; here every block does.
   */
  up: Scope | undefined
  /** The scope in which the block itself stands; `undefined` outside of all blocks. */
  readonly outer: Scope | undefined
  data: LoopData | undefined
  params: Params | undefined
  /** Whether the context is a member of a tool's result, so that a missing member is `NOTHING`. */
  fromTool = false
  /** Whether `params` belong to a loop, and change in each round. */
  ownsParams = false
  /** The provenance of the context, in a template that is explained. */
  provenance: Provenance | undefined = undefined
  /** The value of the block whose body runs in this scope (such as the list of a loop), with its provenance; set only in a template that is explained. */
  header: Header | undefined = undefined
  readonly rendering: Rendering

  constructor (rendering: Rendering, context: Value, outer: Scope | undefined, data: LoopData | undefined, params: Params | undefined) {
    this.rendering = rendering
    this.outer = outer
    this.data = data
    this.params = params
    this.context = context
    this.up = outer
  }

  /** Makes `../` mean what it means around the body of a partial's block, or an inline partial, that keeps the context from there: as in `if`. */
  keepLevel (): this {
    if (this.outer !== undefined && this.context === this.outer.context) this.up = this.outer.up
    return this
  }

  /** Prepares the scope for the next round of a loop. */
  nextRound (context: Value, key: Value, index: number, isLast: boolean): void {
    this.context = context
    const data = this.data as LoopData
    data.index = index
    data.key = key
    data.first = index === 0
    data.last = isLast
    if (!this.ownsParams) return
    const params = this.params as Params
    params.first = context
    params.second = key
  }
}
