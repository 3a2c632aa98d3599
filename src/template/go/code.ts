import { type FailingPart, RenderError } from '../language.ts'
import type { Provenance } from '../provenance.ts'
import { dataMember } from '../scope.ts'
import type { Position } from '../tags.ts'
import type { TemplateFunction } from '../template-function.ts'
import type { LiteralText } from '../trace.ts'
import { toUnicode } from './bytes.ts'
import { type GoValue, isGoDataName } from './go-value.ts'
import { describeNode, type ListNode, type Node, type Operand, startOf, type Tree, type VariableNode } from './node.ts'
import { frameOf, type RenderState, type TraceFrame } from './render-state.ts'

// What a template is compiled to, and what is known while it is compiled.

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

/** @param tell gets what the expression read, when the render is explained */
export function observing (evaluate: Evaluate, isExplained: boolean, tell: (from: Provenance, frame: TraceFrame) => void): Evaluate {
  if (!isExplained) return evaluate
  return (state, dot) => {
    const frame = frameOf(state)
    const { mark } = frame.trace
    const value = evaluate(state, dot)
    tell(frame.trace.take(mark), frame)
    return value
  }
}

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

export interface Unit {
  readonly compilers: { operand (context: Context, operand: Operand): CompiledExpression, list (context: Context, node: ListNode): List }
  readonly tree: Tree
  readonly functions: ReadonlyMap<string, TemplateFunction>
  readonly links: ReadonlyMap<Node, number>
  readonly bodies: ReadonlyMap<string | undefined, Body>
  readonly isExplained: boolean
  readonly failing: FailingPart[]
  forms: number
}

export interface Context {
  readonly unit: Unit
  readonly isMain: boolean
  readonly scope: VariableScope
}

export function failure (context: Context, node: Node, reason: string): RenderError {
  return new RenderError('go', `<${describeNode(node)}>: ${toUnicode(reason)}`, placeOf(context, node))
}

/** Still compiles: as in Go, it is an error only when a render reaches the node. */
export function noteFailing (context: Context, node: Node, reason: string): void {
  context.unit.failing.push({ reason, ...placeOf(context, node) })
}

export function placeOf ({ unit }: Context, node: Node): Position {
  return unit.tree.source.position(startOf(node))
}

/** As in Go, an error only when the render reaches the place, so it is noted as a part that fails. */
export function undefinedVariable (context: Context, node: VariableNode): string {
  const reason = `undefined variable: ${node.name}`
  noteFailing(context, node, reason)
  return reason
}

export interface Variable {
  readonly name: string
  readonly slot: number
  isBoxed: boolean
  path: string
}

export interface Dot {
  /** From the scope root, `''` for the root itself; `undefined` when unknown. */
  readonly path: string | undefined
  readonly isBoxed: boolean
  /** The template's argument: no `with` or `range` has changed it. */
  readonly isInitial: boolean
}

/** Works like Go's stack of variables at run time: the last one pushed is meant, and a block's end pops its own. */
export class VariableScope {
  readonly #variables: Variable[] = []
  slots = 0
  dot: Dot
  depth = 0

  constructor (dot: Dot) {
    this.dot = dot
    this.declare('$', false, dot.path ?? '$')
  }

  declare (name: string, isBoxed: boolean, path: string): Variable {
    const variable = { name, slot: this.slots++, isBoxed, path }
    this.#variables.push(variable)
    return variable
  }

  find (name: string): Variable | undefined {
    return this.#variables.findLast(variable => variable.name === name)
  }

  block<T> (compile: () => T): T {
    const before = this.#variables.length
    const compiled = compile()
    this.#variables.length = before
    return compiled
  }

  nested<T> (compile: () => T): T {
    this.depth++
    const compiled = this.block(compile)
    this.depth--
    return compiled
  }

  withDot<T> (dot: Dot, compile: () => T): T {
    const outer = this.dot
    this.dot = dot
    const compiled = compile()
    this.dot = outer
    return compiled
  }
}
