import type { Position } from '../tags.ts'
import type { LiteralText } from '../trace.ts'
import { dataMember } from '../scope.ts'
import { type GoValue, isGoDataName } from './go-value.ts'
import type { Node } from './node.ts'
import type { RenderState } from './render-state.ts'

/** -1 is the dot. `undefined` if JavaScript's own objects have one of the names. */
export function plainPath (slot: number, names: readonly string[]): PlainPath | undefined {
  return names.every(isGoDataName) ? { slot, names, rest: names.slice(1), isOfVariables: names[0] === 'variables' || names[0] === 'args' } : undefined
}

export function beginsAtRoot (state: RenderState, dot: GoValue, { slot, isOfVariables }: PlainPath): boolean {
  return isOfVariables && (slot < 0 ? dot : state.variables[slot]) === state.root
}

/** `undefined` when it is no data, such as in shared variables: then the path must be evaluated in the usual way. */
export function readPlain (state: RenderState, dot: GoValue, { slot, names, isOfVariables }: PlainPath): GoValue | undefined {
  let value = slot < 0 ? dot : state.variables[slot]
  let index = 0
  if (isOfVariables && value === state.root) {
    value = state.variablesOfRoot
    index = 1
  }
  for (; index < names.length; index++) {
    if (typeof value !== 'object' || value === null) return undefined
    value = dataMember(value, names[index] as string)
  }
  return value
}

/** Gives `PENDING` while a tool result or a shared variable is unknown: the render then runs another pass. */
export type Evaluate = (state: RenderState, dot: GoValue) => GoValue

/** Returns `before` with the statement's output; `{{break}}` and `{{continue}}` set `state.jump`. */
export type Write = (state: RenderState, dot: GoValue, value: GoValue, before: string) => string

/** `writeList` handles the first two itself, because that is faster. */
export const Kind = {
  Print: 0,
  If: 1,
  Other: 2
} as const

export interface CompiledExpression {
  readonly evaluate: Evaluate
  /** As indexes in `Machine.variables`. */
  readonly assigns: readonly number[]
  /** In syntax-tree nodes: the cost in visits. */
  readonly size: number
  /** From the scope root if known, otherwise the source text. */
  readonly path: string
  /** Directly from a map or a list, where Go has an `interface {}`: that changes Go's messages. */
  readonly isBoxed: boolean
  /** Go's messages name the node that was evaluated last. */
  readonly last: (state: RenderState) => Node
  readonly start: number
}

export interface CompiledBlock {
  readonly evaluate: Evaluate
  readonly path: PlainPath | undefined
  readonly kind: number
  readonly write: Write
  readonly list?: List | undefined
  /** Only of a statement that prints. */
  readonly at?: Position | undefined
  readonly assigns: readonly number[]
  /** Bits of `Jump.Continue` and `Jump.Break`, for the loop around. */
  readonly jumps: number
  /** Without the lists inside, whose cost is counted when they begin to run. */
  readonly size: number
}

export interface List {
  readonly steps: readonly ListStep[]
  readonly tail: string
  /** The texts that `tail` is made of, if they are explained. */
  readonly tailTexts: readonly LiteralText[]
  /** In visits. */
  readonly cost: number
  readonly assigns: readonly number[]
  readonly jumps: number
}

export interface ListStep extends CompiledBlock {
  readonly before: string
  readonly beforeTexts: readonly LiteralText[]
}

/** A path from the dot or a variable whose names are only data, never JavaScript's properties: `readPlain` reads nearly all values fast. */
export interface PlainPath {
  /** -1 for the dot. */
  readonly slot: number
  readonly names: readonly string[]
  /** All but the first. */
  readonly rest: readonly string[]
  /** `variables` or `args` at the scope root means the caller's variables. */
  readonly isOfVariables: boolean
}

/** Slots of `range $key, $element := …`; -1 for one that is not there. */
export interface RangeHeader {
  readonly key: number
  readonly element: number
  readonly assigns: readonly number[]
  readonly isAssignment: boolean
}

export interface Body {
  list: List
  /** Including `$`. */
  slots: number
}

/** `.` is a dot of unknown path, `''` the scope root. */
export function joinPath (path: string, name: string): string {
  return path === '' ? name : path === '.' ? `.${name}` : `${path}.${name}`
}
