import { type Position } from '../../position.ts'
import { type FailingPart, RenderError } from '../../language.ts'
import { type TemplateFunction } from '../../functions/function.ts'
import { describeNode } from '../syntax/describe-node.ts'
import { type ListNode, type Node, type Operand, startOf, type Tree, type VariableNode } from '../syntax/node.ts'
import { toUnicode } from '../value/bytes.ts'
import { type Body, type Expression, type List } from './code.ts'
import { type Scope } from './scope.ts'
import { type Tracing } from './tracing.ts'

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
