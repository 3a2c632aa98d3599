import { type PartialCall, type Reference } from '../../language.ts'
import { describeNode, describeOperand } from '../syntax/describe-node.ts'
import { type Command, type IdentifierNode, type ListNode, type Node, type Operand, type Pipe, type TemplateNode, type Tree } from '../syntax/node.ts'

/** The tools and partials that a template names, in source order, and the index of each node that names one. */
export interface References {
  readonly references: readonly Reference[]
  readonly links: ReadonlyMap<Node, number>
}

/**
 * Finds every call of a name that is no function of the language, and every `{{template}}` whose body the source does not define.
 * @param calls what is known about each `{{template}}`
 */
export function findReferences (tree: Tree, isFunction: (name: string) => boolean, calls: ReadonlyMap<TemplateNode, readonly PartialCall[]>): References {
  const finder = new Finder(tree, isFunction)
  for (const list of tree.bodies.values()) finder.list(list)
  const found = finder.found.sort((left, right) => left.node.offset - right.node.offset)
  return {
    references: found.map(({ node, args }) => {
      const known = node.type === 'template' ? calls.get(node) : undefined
      const place = tree.source.position(node.offset)
      return {
        kind: node.type === 'template' ? 'partial' : 'function',
        name: node.name,
        arguments: args,
        ...(known === undefined ? {} : { calls: known }),
        ...place
      }
    }),
    links: new Map(found.map(({ node }, index) => [node, index]))
  }
}

class Finder {
  readonly found: Array<{ node: IdentifierNode | TemplateNode, args: readonly string[] }> = []
  readonly #tree: Tree
  readonly #isFunction: (name: string) => boolean

  constructor (tree: Tree, isFunction: (name: string) => boolean) {
    this.#tree = tree
    this.#isFunction = isFunction
  }

  list ({ nodes }: ListNode): void {
    for (const node of nodes) {
      if ('pipe' in node && node.pipe !== undefined) this.#pipe(node.pipe)
      if ('list' in node) this.list(node.list)
      if ('otherwise' in node && node.otherwise !== undefined) this.list(node.otherwise)
      if (node.type === 'template' && !this.#tree.bodies.has(node.name)) {
        this.found.push({ node, args: node.pipe === undefined ? [] : [describeNode(node.pipe)] })
      }
    }
  }

  #pipe ({ commands }: Pipe): void {
    for (const [index, command] of commands.entries()) {
      const piped = commands.slice(0, index).map(describeNode).join(' | ')
      this.#command(command, index === 0 ? [] : [piped])
    }
  }

  #command ({ operands }: Command, piped: readonly string[]): void {
    for (const [index, operand] of operands.entries()) {
      this.#operand(operand, index === 0 ? [...operands.slice(1).map(describeOperand), ...piped] : [])
    }
  }

  #operand (operand: Operand, args: readonly string[]): void {
    if (operand.type === 'pipe') this.#pipe(operand)
    else if (operand.type === 'chain') this.#operand(operand.base, [])
    else if (operand.type === 'identifier' && !this.#isFunction(operand.name)) this.found.push({ node: operand, args })
  }
}
