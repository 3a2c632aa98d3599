import type { Position } from '../tags.ts'
import { quoteText } from './quote.ts'
import type { NumberLiteral } from './parse-number.ts'

/** Writes a node as source text, in the form that Go's messages use. */
export function describeNode (node: Node): string {
  switch (node.type) {
    case 'text':
      return node.text
    case 'action':
      return `{{${describeNode(node.pipe)}}}`
    case 'template':
      return `{{template ${quoteText(node.name)}${node.pipe === undefined ? '' : ` ${describeNode(node.pipe)}`}}}`
    case 'break':
    case 'continue':
      return `{{${node.type}}}`
    case 'pipe':
      return describeVariables(node.variables.map(describeNode), node.isAssignment) + node.commands.map(describeNode).join(' | ')
    case 'command':
      return node.operands.map(describeOperand).join(' ')
    case 'field':
      return `.${node.names.join('.')}`
    case 'variable':
      return [node.name, ...node.fields].join('.')
    case 'chain':
      return [describeOperand(node.base), ...node.fields].join('.')
    case 'identifier':
      return node.name
    case 'dot':
      return '.'
    case 'nil':
      return 'nil'
    case 'bool':
      return String(node.value)
    case 'number':
      return node.text
    case 'string':
      return node.quoted
    default:
      return describeBranch(node)
  }
}

/** Writes an operand as source text, with a pipeline in parentheses. */
export function describeOperand (node: Node): string {
  return node.type === 'pipe' ? `(${describeNode(node)})` : describeNode(node)
}

function describeBranch ({ type, pipe, list, otherwise }: BranchNode): string {
  const otherwiseText = otherwise === undefined ? '' : `{{else}}${describeList(otherwise)}`
  return `{{${type} ${describeNode(pipe)}}}${describeList(list)}${otherwiseText}{{end}}`
}

function describeList ({ nodes }: ListNode): string {
  return nodes.map(describeNode).join('')
}

function describeVariables (names: readonly string[], isAssignment: boolean): string {
  return names.length === 0 ? '' : `${names.join(', ')} ${isAssignment ? '=' : ':='} `
}

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

interface JumpNode { readonly type: 'break' | 'continue', readonly offset: number }

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

interface DotNode { readonly type: 'dot', readonly offset: number }

interface NilNode { readonly type: 'nil', readonly offset: number }

interface BoolNode { readonly type: 'bool', readonly offset: number, readonly value: boolean }

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

/** The source of a template, with quick access to lines and columns. */
export class Source {
  readonly text: string
  readonly #lineStarts: readonly number[]

  constructor (text: string) {
    this.text = text
    const starts = [0]
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) starts.push(index + 1)
    this.#lineStarts = starts
  }

  /** The line and column of an offset. Both count from 1; columns count UTF-16 units. */
  position (offset: number): Position {
    const line = this.#line(offset)
    return { line, column: offset - this.#start(line) + 1 }
  }

  #start (line: number): number {
    return this.#lineStarts[line - 1] as number
  }

  /** The number of lines that begin at or before an offset. */
  #line (offset: number): number {
    let low = 1
    let high = this.#lineStarts.length
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#start(middle) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}
