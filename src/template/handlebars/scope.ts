import type { EnteredPartial, Link } from '../language.ts'
import type { Provenance } from '../provenance.ts'
import type { Run } from '../run.ts'
import { dataMember, isRootName } from '../scope.ts'
import type { Header } from '../trace.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING, type Pending, type Value, type ValueObject } from '../value.ts'
import type { StaticPath } from './static-path.ts'

/**
 * The own member of a value; `undefined` when it has none of that name. Texts have no members and lists have only elements, so no property of
 * JavaScript itself is ever found. Members of a pending value are pending, and members of `NOTHING` are `NOTHING`.
 * @param isOfData the result of `isDataName` for the name, when the name is known at compile time
 */
export function memberOf (holder: Value, name: string, isOfData = false): Value | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined
  if (isOfData) {
    const member = dataMember(holder, name)
    if (member !== undefined) return member
  }
  if (holder instanceof LazyNode) return holder.field(name)
  if (holder === PENDING || holder === NOTHING) return holder
  if (holder instanceof Absent) return new Absent(`${holder.path}.${name}`)
  const isMember = Object.hasOwn(holder, name) && !(name === 'length' && Array.isArray(holder))
  return isMember ? (holder as ValueObject)[name] : undefined
}

/** The value of a member that does not exist: `NOTHING` inside a tool's result, otherwise absent. */
export function missing (holder: Value, holderFromTool: boolean, path: string): Value {
  return isFromTool(holder, holderFromTool) ? NOTHING : new Absent(path)
}

/** Whether a value belongs to a tool's result. For a value that is no object or list, it depends on the object or list that contains the value. */
export function isFromTool (value: Value, holderFromTool: boolean): boolean {
  return typeof value === 'object' && value !== null ? isToolResult(value) : holderFromTool
}

/** Whether a name is looked up at the scope root (the object with all variables), because the context of the partial lacks it. */
export function yieldsToRoot ({ context, rendering }: Scope, name: string, member: Value | undefined): boolean {
  if (!rendering.isPartial || context !== rendering.dot) return false
  if (member !== undefined && member !== NOTHING && !(member instanceof Absent)) return false
  return isRootName(name, rendering.run)
}

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

/** Whether a value counts as true in a condition such as `if`. False are: false, 0, NaN, empty texts and lists, null, `NOTHING` and absent. */
export function isTrue (value: Value): boolean | Pending {
  if (typeof value !== 'object') return Boolean(value)
  if (value === null || value === NOTHING) return false
  if (value === PENDING) return PENDING
  if (Array.isArray(value)) return value.length > 0
  // A `LazyNode` is an object, and objects are true, empty or not: so it need not be read.
  return !(value instanceof Absent)
}
