import { type FailingPart, RenderError } from '../language.ts'
import type { Position } from '../tags.ts'
import type { TemplateFunction } from '../template-function.ts'
import { toUnicode } from './bytes.ts'
import { describeNode, type ListNode, type Node, type Operand, startOf, type Tree, type VariableNode } from './node.ts'
import type { Body, Expression, List } from './code.ts'
import type { Tracing } from './tracing.ts'

/** The functions that compile nested parts of a template. They are passed along, so that no file imports another one that imports it. */
export interface Compilers {
  operand (context: Context, operand: Operand): Expression
  list (context: Context, node: ListNode): List
}

/** What all bodies in one template source (the template itself and those that it defines) share while they are compiled. */
export interface Unit {
  readonly compilers: Compilers
  readonly tree: Tree
  /** The functions that both template languages have. */
  readonly functions: ReadonlyMap<string, TemplateFunction>
  /** The index in `Frame.links` for every node that names a tool or partial. */
  readonly links: ReadonlyMap<Node, number>
  readonly bodies: ReadonlyMap<string | undefined, Body>
  readonly tracing: Tracing
  /** The parts of the template that fail whenever they run, in the order in which they are found. */
  readonly failing: FailingPart[]
  /** The number of `and` and `or` compiled so far, by which each of them gets a number of its own. */
  forms: number
}

/** What is known about the body (the template itself or one that it defines) that is compiled now. */
export interface Context {
  readonly unit: Unit
  /** Whether the body is the template itself, and not one that it defines. */
  readonly isMain: boolean
  readonly scope: Scope
}

/** Makes the error for a node that cannot be evaluated. */
export function failure (context: Context, node: Node, reason: string): RenderError {
  return new RenderError('go', `<${describeNode(node)}>: ${toUnicode(reason)}`, placeOf(context, node))
}

/** Notes that a node fails whenever it runs. The template still compiles: as in Go, that is an error only when a render reaches the node. */
export function noteFailing (context: Context, node: Node, reason: string): void {
  context.unit.failing.push({ reason, ...placeOf(context, node) })
}

/** The place at which a node begins, for messages. */
export function placeOf ({ unit }: Context, node: Node): Position {
  return unit.tree.source.position(startOf(node))
}

/**
 * The message about a variable that is not declared. As in Go, it is an error only when the render reaches the place, so the place is noted as a part
 * that fails.
 */
export function undefinedVariable (context: Context, node: VariableNode): string {
  const reason = `undefined variable: ${node.name}`
  noteFailing(context, node, reason)
  return reason
}

/** A variable of a template's body, as it is known when the body is compiled. */
export interface Variable {
  readonly name: string
  readonly slot: number
  /** Whether the variable's value is an element of a list or map; see `Expression.isBoxed`. */
  isBoxed: boolean
  /** The path of the variable's value from the scope root (the object with all variables), or the variable's name when that path is not known. */
  path: string
}

/** The dot (the value to which `.name` belongs) at a place in a template, as far as it is known without running the template. */
export interface Dot {
  /** The path of the dot from the scope root (the object with all variables), `''` for the root; `undefined` when it is not known. */
  readonly path: string | undefined
  readonly isBoxed: boolean
  /** Whether the dot is the value with which the template was called: no `with` or `range` has changed it. */
  readonly isInitial: boolean
}

/**
 * The variables that can be used at the place that is compiled now, and the dot there. The scope works like the stack of variables that Go keeps at run
 * time: a name means the variable that was pushed last, and the end of a block pops the block's variables.
 */
export class Scope {
  readonly #variables: Variable[] = []
  slots = 0
  dot: Dot
  /** The number of blocks around the place that is compiled now. */
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

  /** Compiles a part of a template. The variables that the part declares cannot be used after it. */
  block<T> (compile: () => T): T {
    const before = this.#variables.length
    const compiled = compile()
    this.#variables.length = before
    return compiled
  }

  /** Compiles a block (`if`, `with` or `range`): its header and the statements inside it. */
  nested<T> (compile: () => T): T {
    this.depth++
    const compiled = this.block(compile)
    this.depth--
    return compiled
  }

  /** Compiles a part of a template in which the dot is another value than around it. */
  withDot<T> (dot: Dot, compile: () => T): T {
    const outer = this.dot
    this.dot = dot
    const compiled = compile()
    this.dot = outer
    return compiled
  }
}
