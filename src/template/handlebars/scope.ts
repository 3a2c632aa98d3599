import type { EnteredPartial, Link } from '../language.ts'
import type { Provenance } from '../provenance.ts'
import type { RenderRun } from '../run.ts'
import { dataMember, isRootName, traceOf } from '../scope.ts'
import type { Trace } from '../trace.ts'
import { Absent, isToolResult, LazyNode, NOTHING, PENDING, type Pending, type Value, type ValueObject } from '../value.ts'
import type { StaticPath } from './static-path.ts'

/** Own members only: no property of JavaScript is ever found. Pending and `NOTHING` have members like themselves. */
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

export function missing (holder: Value, holderFromTool: boolean, path: string): Value {
  return isFromTool(holder, holderFromTool) ? NOTHING : new Absent(path)
}

/** A value that is no object or list belongs where its holder does. */
export function isFromTool (value: Value, holderFromTool: boolean): boolean {
  return typeof value === 'object' && value !== null ? isToolResult(value) : holderFromTool
}

/** The context of a partial can lack names that the scope root has. */
export function yieldsToRoot ({ context, rendering }: Scope, name: string, member: Value | undefined): boolean {
  if (!rendering.isPartial || context !== rendering.dot) return false
  if (member !== undefined && member !== NOTHING && !(member instanceof Absent)) return false
  return isRootName(name, rendering.run)
}

export interface Compiled {
  readonly evaluate: Evaluator
  readonly where: StaticPath
  /** If a tool stands at this index of `Rendering.links` when the template runs, the name means it. */
  readonly toolSlot?: number
}

/** `hops` counts the blocks with parameters between the use and the declaration. */
export interface FoundParam { readonly hops: number, readonly index: number, readonly value: StaticPath }

export type Render = (scope: Scope) => string

export type Evaluator = (scope: Scope) => Value

/** @param tell gets what the evaluator read, when the render is explained */
export function observing (
  evaluate: Evaluator, { isExplained }: { readonly isExplained: boolean }, tell: (from: Provenance, trace: Trace, scope: Scope) => void
): Evaluator {
  if (!isExplained) return evaluate
  return scope => {
    const trace = traceOf(scope.rendering.run)
    const { mark } = trace
    const value = evaluate(scope)
    tell(trace.take(mark), trace, scope)
    return value
  }
}

export interface Inline { readonly render: Render, readonly defined: Scope | undefined, readonly rendering: TemplateState }

export interface PartialBody { readonly render: Render, readonly scope: Scope, readonly outer: PartialBody | undefined }

export interface TemplateState {
  readonly run: RenderRun
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  readonly dot: Value
  /** Such a context can lack names that the root has. */
  readonly isPartial: boolean
  /** Code that replaces the map must restore it. */
  inlines: ReadonlyMap<string, Inline> | undefined
  partials: Array<EnteredPartial | undefined> | undefined
  partial: string | undefined
}

/** `each`, and a partial with a block, begin a new set; `@../index` reads the one before. */
export class LoopData {
  index: Value | undefined
  key: Value | undefined
  first: Value | undefined
  last: Value | undefined
  body: PartialBody | undefined
  readonly outer: LoopData | undefined
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
  provenance: Provenance | undefined
}

/** A loop changes one scope for each round, because nothing outlives a round. */
export class Scope {
  context: Value
  /** For `../`. In the package, a block with an equal context opens no level, so `../` depends on data; here every block does. */
  up: Scope | undefined
  /** The scope in which the block itself stands; `undefined` outside of all blocks. */
  readonly outer: Scope | undefined
  data: LoopData | undefined
  params: Params | undefined
  /** A missing member of a tool's result is `NOTHING`. */
  fromTool = false
  ownsParams = false
  /** Of the context, in an explained render. */
  provenance: Provenance | undefined = undefined
  /** Likewise, of the value of the block that is entered next. */
  from: Provenance | undefined = undefined
  readonly rendering: TemplateState

  constructor (rendering: TemplateState, context: Value, outer: Scope | undefined, data: LoopData | undefined, params: Params | undefined) {
    this.rendering = rendering
    this.outer = outer
    this.data = data
    this.params = params
    this.context = context
    this.up = outer
  }

  /** `../` means what it means around the body, as in `if`. */
  keepLevel (): this {
    if (this.outer !== undefined && this.context === this.outer.context) this.up = this.outer.up
    return this
  }

  comeFrom (provenance: Provenance): void {
    this.provenance = provenance
    if (this.data !== this.outer?.data) (this.data as LoopData).provenance = provenance
    if (this.params !== this.outer?.params) (this.params as Params).provenance = provenance
  }

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

/** False are: false, 0, NaN, empty texts and lists, null, `NOTHING` and absent. */
export function isTrue (value: Value): boolean | Pending {
  if (typeof value !== 'object') return Boolean(value)
  if (value === null || value === NOTHING) return false
  if (value === PENDING) return PENDING
  if (Array.isArray(value)) return value.length > 0
  // Objects are true, empty or not, so a `LazyNode` need not be read.
  return !(value instanceof Absent)
}
