import { type UnreachablePart } from '../../language.ts'
import { type BranchNode, type ListNode, type Operand, type Pipe, startOf, type Statement, type Tree } from '../syntax/node.ts'

/** Finds the parts of a template that can never run: those after a jump, and the branches that a constant condition never takes. */
export function findUnreachable (tree: Tree): readonly UnreachablePart[] {
  const found: Array<{ offset: number, reason: string }> = []
  const report = (nodes: readonly Statement[], reason: string): void => {
    const first = nodes.find(node => !isBlank(node))
    if (first !== undefined) found.push({ offset: startOf(first), reason })
  }

  function walk ({ nodes }: ListNode): void {
    const jump = nodes.findIndex(({ type }) => type === 'break' || type === 'continue')
    const reached = jump === -1 ? nodes : nodes.slice(0, jump)
    for (const node of reached) if ('list' in node) walkBranch(node)
    if (jump !== -1) report(nodes.slice(jump + 1), `it follows {{${(nodes[jump] as Statement).type}}}`)
  }

  function walkBranch (node: BranchNode): void {
    const { list, otherwise = { nodes: [] } } = node
    const truth = node.type === 'range' ? truthOfRange(node.pipe) : truthOfPipe(node.pipe)
    const reason = `the condition is always ${String(truth)}`
    if (truth === false) report(list.nodes, reason)
    else walk(list)
    if (truth === true) report(otherwise.nodes, reason)
    else walk(otherwise)
  }

  for (const list of tree.bodies.values()) walk(list)
  return found
    .sort((left, right) => left.offset - right.offset)
    .map(({ offset, reason }) => ({ reason, ...tree.source.position(offset) }))
}

function isBlank (node: Statement): boolean {
  return node.type === 'text' && node.text.trim() === ''
}

/** Whether a `range` has at least one round; `undefined` unless it loops over a number that is written in the template. */
function truthOfRange (pipe: Pipe): boolean | undefined {
  const operand = soleOperand(pipe)
  return operand?.type === 'number' ? truthOfOperand(operand) : undefined
}

/** Whether a pipeline is true as a condition; `undefined` when that depends on a value. */
function truthOfPipe ({ commands: [command, ...others] }: Pipe): boolean | undefined {
  if (command === undefined || others.length > 0) return undefined
  const [first, ...rest] = command.operands as [Operand, ...Operand[]]
  if (first.type !== 'identifier') return rest.length === 0 ? truthOfOperand(first) : undefined
  const truths = rest.map(truthOfOperand)
  switch (first.name) {
    case 'not': return truths[0] === undefined ? undefined : !truths[0]
    case 'and': return truths.includes(false) ? false : truths.includes(undefined) ? undefined : true
    case 'or': return truths.includes(true) ? true : truths.includes(undefined) ? undefined : false
    default: return undefined
  }
}

function truthOfOperand (operand: Operand): boolean | undefined {
  switch (operand.type) {
    case 'bool': return operand.value
    case 'string': return operand.text !== ''
    case 'number': return operand.literal.float === undefined ? undefined : operand.literal.float !== 0
    case 'pipe': return truthOfPipe(operand)
    default: return undefined
  }
}

function soleOperand ({ commands }: Pipe): Operand | undefined {
  const operands = commands.flatMap(command => command.operands)
  return operands.length === 1 ? operands[0] : undefined
}
