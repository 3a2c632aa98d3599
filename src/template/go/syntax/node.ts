import { type NumberLiteral } from './number.ts'
import { type Source } from './source.ts'

/**
 * A template's text as a tree. `offset` is a place in the source, in UTF-16 units: the place that Go names in messages. For
 * `.a.b` that is the place of the second name, and `start` is where the node begins.
 */
export type Node = Statement | Pipe | Command | Operand

/** What a list is made of. */
export type Statement = TextNode | ActionNode | BranchNode | TemplateNode | JumpNode

/** What a command is made of. */
export type Operand =
  | FieldNode | VariableNode | ChainNode | IdentifierNode | DotNode | NilNode | BoolNode | NumberNode | StringNode | Pipe

export interface ListNode { readonly nodes: readonly Statement[] }

export interface TextNode { readonly type: 'text', readonly offset: number, readonly text: string }

/** `{{pipeline}}`. */
export interface ActionNode { readonly type: 'action', readonly offset: number, readonly pipe: Pipe }

/** `{{if}}`, `{{with}}`, `{{range}}`. */
export interface BranchNode {
  readonly type: 'if' | 'with' | 'range'
  readonly offset: number
  readonly pipe: Pipe
  readonly list: ListNode
  readonly otherwise: ListNode | undefined
}

/** `{{template "name" pipeline}}`, and what is left of a `{{block}}`. */
export interface TemplateNode { readonly type: 'template', readonly offset: number, readonly name: string, readonly pipe: Pipe | undefined }

export interface JumpNode { readonly type: 'break' | 'continue', readonly offset: number }

/** `$a, $b := command | command`. */
export interface Pipe {
  readonly type: 'pipe'
  readonly offset: number
  /** The variables are assigned, not declared. */
  readonly isAssignment: boolean
  readonly variables: readonly VariableNode[]
  readonly commands: readonly Command[]
}

export interface Command { readonly type: 'command', readonly offset: number, readonly operands: readonly Operand[] }

/** `.a.b`. */
export interface FieldNode { readonly type: 'field', readonly start: number, readonly offset: number, readonly names: readonly string[] }

/** `$x.a.b`; `name` has its dollar sign. */
export interface VariableNode {
  readonly type: 'variable'
  readonly start: number
  readonly offset: number
  readonly name: string
  readonly fields: readonly string[]
}

/** `(pipeline).a.b`, `function.a`. */
export interface ChainNode {
  readonly type: 'chain'
  readonly start: number
  readonly offset: number
  readonly base: Operand
  readonly fields: readonly string[]
}

/** The name of a function. */
export interface IdentifierNode { readonly type: 'identifier', readonly offset: number, readonly name: string }

export interface DotNode { readonly type: 'dot', readonly offset: number }

export interface NilNode { readonly type: 'nil', readonly offset: number }

export interface BoolNode { readonly type: 'bool', readonly offset: number, readonly value: boolean }

export interface NumberNode { readonly type: 'number', readonly offset: number, readonly text: string, readonly literal: NumberLiteral }

export interface StringNode { readonly type: 'string', readonly offset: number, readonly quoted: string, readonly text: string }

/** A parsed template: its own body and every body that it defines, by name. */
export interface Tree {
  readonly source: Source
  /** The template's own body has `MAIN_BODY` in place of a name. */
  readonly bodies: ReadonlyMap<string | undefined, ListNode>
}

/** What stands in place of the name of a template's own body: no `{{template}}` can name that. */
export const MAIN_BODY = undefined

/** Where a node begins. */
export function startOf (node: Node): number {
  return 'start' in node ? node.start : node.offset
}
