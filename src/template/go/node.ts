import type { Position } from '../tags.ts'
import { quoteText } from './quote.ts'
import type { NumberLiteral } from './parse-number.ts'

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

/** `offset`, in UTF-16 units, is what Go's messages name: for `.a.b` the second name. `start` is where the node begins. */
export type Node = Statement | Pipe | Command | Operand

export type Statement = TextNode | ActionNode | BranchNode | TemplateNode | { readonly type: 'break' | 'continue', readonly offset: number }

export type Operand =
  | FieldNode | VariableNode | ChainNode | IdentifierNode | NumberNode | StringNode | Pipe
  | { readonly type: 'dot' | 'nil', readonly offset: number } | { readonly type: 'bool', readonly offset: number, readonly value: boolean }

export interface ListNode { readonly nodes: readonly Statement[] }

export interface TextNode { readonly type: 'text', readonly offset: number, readonly text: string }

export interface ActionNode { readonly type: 'action', readonly offset: number, readonly pipe: Pipe }

export interface BranchNode {
  readonly type: 'if' | 'with' | 'range'
  readonly offset: number
  readonly pipe: Pipe
  readonly list: ListNode
  readonly otherwise: ListNode | undefined
}

/** A `{{block}}` becomes one, too. */
export interface TemplateNode { readonly type: 'template', readonly offset: number, readonly name: string, readonly pipe: Pipe | undefined }

/** A pipeline: `$a, $b := command | command`. */
export interface Pipe {
  readonly type: 'pipe'
  readonly offset: number
  readonly isAssignment: boolean
  readonly variables: readonly VariableNode[]
  readonly commands: readonly Command[]
}

export interface Command { readonly type: 'command', readonly offset: number, readonly operands: readonly Operand[] }

export interface FieldNode { readonly type: 'field', readonly start: number, readonly offset: number, readonly names: readonly string[] }

/** `name` includes the dollar sign. */
export interface VariableNode {
  readonly type: 'variable'
  readonly start: number
  readonly offset: number
  readonly name: string
  readonly fields: readonly string[]
}

export interface ChainNode {
  readonly type: 'chain'
  readonly start: number
  readonly offset: number
  readonly base: Operand
  readonly fields: readonly string[]
}

export interface IdentifierNode { readonly type: 'identifier', readonly offset: number, readonly name: string }

export interface NumberNode { readonly type: 'number', readonly offset: number, readonly text: string, readonly literal: NumberLiteral }

export interface StringNode { readonly type: 'string', readonly offset: number, readonly quoted: string, readonly text: string }

export interface Tree {
  readonly source: SourceText
  readonly bodies: ReadonlyMap<string | undefined, ListNode>
}

/** No `{{template}}` can name it. */
export const MAIN_BODY = undefined

export function startOf (node: Node): number {
  return 'start' in node ? node.start : node.offset
}

export class SourceText {
  readonly text: string
  readonly #lineStarts: readonly number[]

  constructor (text: string) {
    this.text = text
    const starts = [0]
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) starts.push(index + 1)
    this.#lineStarts = starts
  }

  /** Both count from 1; columns count UTF-16 units. */
  position (offset: number): Position {
    const line = this.#line(offset)
    return { line, column: offset - this.#start(line) + 1 }
  }

  #start (line: number): number {
    return this.#lineStarts[line - 1] as number
  }

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
