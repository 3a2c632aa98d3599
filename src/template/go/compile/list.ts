import { type ListNode, type Statement, type TextNode } from '../syntax/node.ts'
import { type Block, type Write } from './code.ts'
import { Jump, maybe, REAL_JUMPS } from './jump.ts'
import { type Machine } from './machine.ts'
import { skip, unionOf } from './settle.ts'
import { compileStatement } from './statement.ts'
import { traceStatement, writeText } from './tracing.ts'
import { type Context, placeOf } from './unit.ts'

/** A statement of a list with the text before it. */
interface Part { readonly text: string, readonly block: Block }

/** Compiles a list. Each time it runs it pays for its nodes, and what it writes is held against the limit. */
export function compileList (context: Context, { nodes }: ListNode): Block {
  const { unit } = context
  const parts: Part[] = []
  let text = ''
  let size = nodes.length
  for (const node of nodes) {
    if (node.type === 'text' && !unit.explain) {
      text += node.text
      continue
    }
    const block = unit.explain ? compileTraced(context, node) : compileStatement(context, node as Exclude<Statement, TextNode>)
    size += block.size
    parts.push({ text, block })
    text = ''
  }
  // Even an empty list costs, or a loop over nothing would be free.
  const cost = Math.max(size, 1)
  const jumps = parts.reduce((all, { block }) => all | block.jumps, 0)
  const assigns = unionOf(parts.map(({ block }) => block.assigns))
  return { write: jumps === 0 ? writeAll(parts, text, cost) : writeUntilJump(parts, text, cost), assigns, jumps, size: 0 }
}

/** A statement that leaves no reads behind; text is one of them, which says that it writes. */
function compileTraced (context: Context, node: Statement): Block {
  if (node.type === 'text') return { write: writeText(node.text, placeOf(context, node)), assigns: [], jumps: 0, size: 0 }
  const block = compileStatement(context, node)
  return { ...block, write: traceStatement(block.write) }
}

function writeAll (parts: readonly Part[], tail: string, cost: number): Write {
  const texts = parts.map(({ text }) => text)
  const writes = parts.map(({ block }) => block.write)
  const count = writes.length
  return (machine, dot) => {
    machine.run.charge(cost)
    let text = ''
    for (let index = 0; index < count; index++) {
      text += texts[index] as string
      text += (writes[index] as Write)(machine, dot)
      if (text.length > machine.outputLimit) machine.run.checkOutput(text.length)
    }
    return text + tail
  }
}

/** A list in which something may jump: what is jumped over, or might be, does not run. */
function writeUntilJump (parts: readonly Part[], tail: string, cost: number): Write {
  return (machine, dot) => {
    machine.run.charge(cost)
    let text = ''
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      text += part.text + part.block.write(machine, dot)
      if (text.length > machine.outputLimit) machine.run.checkOutput(text.length)
      if (machine.jump === Jump.None) continue
      if ((machine.jump & REAL_JUMPS) === 0) skipRest(machine, parts, index + 1)
      return text
    }
    return text + tail
  }
}

/** Code that might have been jumped over counts as skipped, jumps of its own included. */
function skipRest (machine: Machine, parts: readonly Part[], from: number): void {
  for (let index = from; index < parts.length; index++) {
    const { block } = parts[index] as Part
    skip(machine, block.assigns)
    machine.jump |= maybe(block.jumps)
  }
}
