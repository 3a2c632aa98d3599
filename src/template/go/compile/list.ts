import { type Literal, literalWriter, type Writer } from '../../explain/piece.ts'
import { type ListNode, type Statement, type TextNode } from '../syntax/node.ts'
import { type Block, type List, type Step } from './code.ts'
import { unionOf } from './settle.ts'
import { NO_STATEMENT } from './block.ts'
import { compilePrinting, compileStatement, isPrinting } from './statement.ts'
import { type Context, placeOf } from './unit.ts'

/** A compiled list without statements. */
export const EMPTY_LIST: List = { steps: [], tail: '', tailWriter: undefined, cost: 1, assigns: [], jumps: 0 }

/** Compiles a list of statements. */
export function compileList (context: Context, { nodes }: ListNode): List {
  const steps: Step[] = []
  const isTraced = context.unit.tracing.isOn
  let text = ''
  // The template's text before the next statement, with its place. It is needed only when the render is explained: then each text of the source is reported.
  let before: Literal | undefined
  const push = (block: Block, isTold: boolean): void => {
    steps.push(stepOf(block, text, isTold ? undefined : writerOf(before)))
    text = ''
    before = undefined
  }
  for (const [index, node] of nodes.entries()) {
    if (node.type === 'text') {
      if (before !== undefined) push(NO_STATEMENT, false)
      text += node.text
      if (isTraced) before = literalOf(context, node)
    } else if (isPrinting(node)) {
      // When the render is explained, a statement that prints also reports the texts beside it.
      const last = isTraced && index === nodes.length - 2 ? nodes[index + 1] : undefined
      const after = last?.type === 'text' ? literalOf(context, last) : undefined
      push(compilePrinting(context, node, { before, after }), true)
      if (after !== undefined) return listOf(nodes, steps, after.text, undefined)
    } else push(compileStatement(context, node), false)
  }
  return listOf(nodes, steps, text, writerOf(before))
}

/** Makes a step of a list. Every step has the same members in the same order, because `writeList` reads them all, and V8 then reads them faster. */
function stepOf ({ evaluate, path, kind, write, list, writer, assigns, jumps, size }: Block, before: string, beforeWriter: Writer | undefined): Step {
  return { before, beforeWriter, evaluate, path, kind, write, list, writer, assigns, jumps, size }
}

function listOf (nodes: readonly Statement[], steps: readonly Step[], tail: string, tailWriter: Writer | undefined): List {
  return {
    steps,
    tail,
    tailWriter,
    // Even an empty list has a cost, because otherwise a loop over nothing would be free.
    cost: Math.max(steps.reduce((sum, { size }) => sum + size, nodes.length), 1),
    assigns: unionOf(steps.map(({ assigns }) => assigns)),
    jumps: steps.reduce((all, { jumps }) => all | jumps, 0)
  }
}

function literalOf (context: Context, node: TextNode): Literal {
  return { text: node.text, ...placeOf(context, node) }
}

function writerOf (literal: Literal | undefined): Writer | undefined {
  return literal && literalWriter(literal)
}
