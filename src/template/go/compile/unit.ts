import { type Position } from '../../position.ts'
import { type FailingPart, RenderError } from '../../language.ts'
import { type TemplateFunction } from '../../functions/function.ts'
import { describeNode } from '../syntax/describe-node.ts'
import { type ListNode, type Node, type Operand, startOf, type Tree, type VariableNode } from '../syntax/node.ts'
import { toUnicode } from '../value/bytes.ts'
import { type Body, type Expression, type List } from './code.ts'
import { type Scope } from './scope.ts'
import { type Tracing } from './tracing.ts'

/** What compiles the parts inside a part: given along, since no file imports one that imports it. */
export interface Compilers {
  operand (context: Context, operand: Operand): Expression
  list (context: Context, node: ListNode): List
}

/** What all bodies of one source are compiled with. */
export interface Unit {
  readonly compilers: Compilers
  readonly tree: Tree
  /** Functions of both languages. */
  readonly functions: ReadonlyMap<string, TemplateFunction>
  /** The slot in `Frame.links` of every node that refers to a tool or partial. */
  readonly links: ReadonlyMap<Node, number>
  readonly bodies: ReadonlyMap<string | undefined, Body>
  readonly tracing: Tracing
  /** What fails whenever it runs, as it is found. */
  readonly failing: FailingPart[]
  /** How many `and`, `or` and `default` there are. */
  forms: number
}

/** What one body is compiled with. */
export interface Context {
  readonly unit: Unit
  /** It is the template itself, not one that it defines. */
  readonly isMain: boolean
  readonly scope: Scope
}

/** The error of a node that cannot be evaluated. */
export function failure (context: Context, node: Node, reason: string): RenderError {
  return new RenderError('go', `<${describeNode(node)}>: ${toUnicode(reason)}`, placeOf(context, node))
}

/** Notes that a node fails whenever it runs: Go says so only then. */
export function noteFailing (context: Context, node: Node, reason: string): void {
  context.unit.failing.push({ reason, ...placeOf(context, node) })
}

/** Where a node begins, for misses and messages. */
export function placeOf ({ unit }: Context, node: Node): Position {
  return unit.tree.source.position(startOf(node))
}

/**
 * What is wrong with a variable that is given a value although nobody declared it. As in Go, the error comes when the render
 * gets there.
 */
export function undefinedVariable (context: Context, node: VariableNode): string {
  const reason = `undefined variable: ${node.name}`
  noteFailing(context, node, reason)
  return reason
}
