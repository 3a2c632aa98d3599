import { type NumberLiteral } from './number.ts'
import { type Source } from './source.ts'

/**
 * A node of a template's syntax tree. `offset` is a place in the source, in UTF-16 units: the one that Go's messages name. For `.a.b` that is the
 * place of the second name; `start` is where the node begins.
 */
export type Node = Statement | Pipe | Command | Operand

/** A statement: one member of a `ListNode`. */
export type Statement = TextNode | ActionNode | BranchNode | TemplateNode | JumpNode

/** An operand: one member of a `Command`, such as a field, a variable or a number. */
export type Operand =
  | FieldNode | VariableNode | ChainNode | IdentifierNode | DotNode | NilNode | BoolNode | NumberNode | StringNode | Pipe

export interface ListNode { readonly nodes: readonly Statement[] }

export interface TextNode { readonly type: 'text', readonly offset: number, readonly text: string }

/** An action: `{{pipeline}}`. */
export interface ActionNode { readonly type: 'action', readonly offset: number, readonly pipe: Pipe }

/** A branch: `{{if}}`, `{{with}}` or `{{range}}`. */
export interface BranchNode {
  readonly type: 'if' | 'with' | 'range'
  readonly offset: number
  readonly pipe: Pipe
  readonly list: ListNode
  readonly otherwise: ListNode | undefined
}

/** A call of a template: `{{template "name" pipeline}}`. A `{{block}}` becomes one, too. */
export interface TemplateNode { readonly type: 'template', readonly offset: number, readonly name: string, readonly pipe: Pipe | undefined }

export interface JumpNode { readonly type: 'break' | 'continue', readonly offset: number }

/** A pipeline: `$a, $b := command | command`. */
export interface Pipe {
  readonly type: 'pipe'
  readonly offset: number
  /** Whether the variables are assigned, and not declared. */
  readonly isAssignment: boolean
  readonly variables: readonly VariableNode[]
  readonly commands: readonly Command[]
}

export interface Command { readonly type: 'command', readonly offset: number, readonly operands: readonly Operand[] }

/** One or more fields: `.a.b`. */
export interface FieldNode { readonly type: 'field', readonly start: number, readonly offset: number, readonly names: readonly string[] }

/** A variable, with fields: `$x.a.b`. `name` includes the dollar sign. */
export interface VariableNode {
  readonly type: 'variable'
  readonly start: number
  readonly offset: number
  readonly name: string
  readonly fields: readonly string[]
}

/** An operand with fields: `(pipeline).a.b`, `function.a`. */
export interface ChainNode {
  readonly type: 'chain'
  readonly start: number
  readonly offset: number
  readonly base: Operand
  readonly fields: readonly string[]
}

/** An identifier: the name of a function. */
export interface IdentifierNode { readonly type: 'identifier', readonly offset: number, readonly name: string }

export interface DotNode { readonly type: 'dot', readonly offset: number }

export interface NilNode { readonly type: 'nil', readonly offset: number }

export interface BoolNode { readonly type: 'bool', readonly offset: number, readonly value: boolean }

export interface NumberNode { readonly type: 'number', readonly offset: number, readonly text: string, readonly literal: NumberLiteral }

export interface StringNode { readonly type: 'string', readonly offset: number, readonly quoted: string, readonly text: string }

/** A parsed template: its own body and every body that it defines, by name. */
export interface Tree {
  readonly source: Source
  /** The bodies by name. The template's own body has the key `MAIN_BODY`. */
  readonly bodies: ReadonlyMap<string | undefined, ListNode>
}

/** The key of a template's own body, which no `{{template}}` can name. */
export const MAIN_BODY = undefined

/** The offset at which a node begins. */
export function startOf (node: Node): number {
  return 'start' in node ? node.start : node.offset
}
