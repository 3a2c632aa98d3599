import { type EnteredPartial, type Link } from '../../language.ts'
import { type Run } from '../../run/run.ts'
import { type Provenance } from '../../explain/provenance.ts'
import { type Header } from '../../explain/trace.ts'
import { type LazyNode, type Value } from '../../value.ts'

/** A compiled sequence of statements: gives its text. */
export type Render = (scope: Scope) => string

/** A compiled expression: gives its value. */
export type Evaluate = (scope: Scope) => Value

/** An inline partial: its body, and the scope around the block that defines it (none for the template itself). */
export interface Inline { readonly render: Render, readonly defined: Scope | undefined, readonly rendering: Rendering }

/** What `{{> @partial-block}}` stands for: the body, the scope of the call, and the block that was in force there. */
export interface PartialBody { readonly render: Render, readonly scope: Scope, readonly outer: PartialBody | undefined }

/** One template in one pass. */
export interface Rendering {
  readonly run: Run
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  /** The context that the template began with. */
  readonly dot: Value
  /** Whether that is not the root, and so may lack the root's names. */
  readonly isPartial: boolean
  /** Inline partials in force; whoever replaces it restores it. */
  inlines: ReadonlyMap<string, Inline> | undefined
  /** The partials that it has entered before, by slot. */
  partials: Array<EnteredPartial | undefined> | undefined
  /** The prompt whose template it is, if that is a partial. */
  partial: string | undefined
}

/** The `@` variables. `each` and a partial with a block begin a new one; `@../index` reads the one before. */
export class LoopData {
  index: Value | undefined
  key: Value | undefined
  first: Value | undefined
  last: Value | undefined
  body: PartialBody | undefined
  readonly outer: LoopData | undefined
  /** Where the element comes from, in a loop that is explained. */
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

/** The values of `as |first second|`. */
export interface Params {
  first: Value
  second: Value | undefined
  fromTool: boolean
  readonly outer: Params | undefined
  /** Where the first one comes from, in a block that is explained. */
  provenance: Provenance | undefined
}

/** Whether a context is the outer one, which adds no `../`. The package compares loosely, so that 0 and false are one. */
function isSame (context: Value, outer: Value): boolean {
  // eslint-disable-next-line eqeqeq
  return context === outer || (typeof context !== 'object' && typeof outer !== 'object' && context == outer)
}

/** Where a block runs. A loop has one scope for all its rounds and changes it in each, since nothing outlives a round. */
export class Scope {
  context: Value
  /** What `../` means: the nearest outer scope with another context. */
  up: Scope | undefined
  /** The scope around the block's statement. */
  readonly outer: Scope | undefined
  data: LoopData | undefined
  params: Params | undefined
  /** Whether the context is a member of a tool's result, so that what it lacks is nothing. */
  fromTool = false
  /** Whether `params` are those of a loop, which change in each round. */
  ownsParams = false
  /** Where the context comes from, if that is traced. */
  provenance: Provenance | undefined = undefined
  /** The traced header of the block whose body runs in it. */
  header: Header | undefined = undefined
  readonly rendering: Rendering

  constructor (rendering: Rendering, context: Value, outer: Scope | undefined, data: LoopData | undefined, params: Params | undefined) {
    this.rendering = rendering
    this.outer = outer
    this.data = data
    this.params = params
    this.context = context
    this.up = outer !== undefined && isSame(context, outer.context) ? outer.up : outer
  }

  /** Begins the next round of a loop. */
  nextRound (context: Value, key: Value, index: number, isLast: boolean): void {
    this.context = context
    const outer = this.outer as Scope
    this.up = isSame(context, outer.context) ? outer.up : outer
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
