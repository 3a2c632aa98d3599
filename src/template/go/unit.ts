import { type FailingPart, RenderError } from '../language.ts'
import type { Position } from '../tags.ts'
import type { TemplateFunction } from '../template-function.ts'
import { toUnicode } from './bytes.ts'
import { describeNode, type ListNode, type Node, type Operand, startOf, type Tree, type VariableNode } from './node.ts'
import type { Body, CompiledExpression, List } from './code.ts'

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
