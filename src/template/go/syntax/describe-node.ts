import { quoteText } from '../fmt/quote.ts'
import { type BranchNode, type ListNode, type Node } from './node.ts'

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
