import { type Beside, type Literal } from '../../trace/piece.ts'
import { type ListNode, type Statement, type TextNode } from '../syntax/node.ts'
import { type Block, type Write } from './code.ts'
import { Jump, maybe, REAL_JUMPS } from './jump.ts'
import { type Machine } from './machine.ts'
import { skip, unionOf } from './settle.ts'
import { compilePrinting, compileStatement, isPrinting } from './statement.ts'
import { traceLiteral, traceStatement } from './tracing.ts'
import { type Context, placeOf } from './unit.ts'

/** A statement of a list with the text before it. */
interface Part { readonly text: string, readonly block: Block }

/** Compiles a list. Each time it runs it pays for its nodes, and what it writes is held against the limit. */
export function compileList (context: Context, { nodes }: ListNode): Block {
  const { parts, tail } = context.unit.explain ? compileTracedParts(context, nodes) : compileParts(context, nodes)
  // Even an empty list costs, or a loop over nothing would be free.
  const cost = Math.max(parts.reduce((sum, { block }) => sum + block.size, nodes.length), 1)
  const jumps = parts.reduce((all, { block }) => all | block.jumps, 0)
  const assigns = unionOf(parts.map(({ block }) => block.assigns))
  return { write: jumps === 0 ? writeAll(parts, tail, cost) : writeUntilJump(parts, tail, cost), assigns, jumps, size: 0 }
}

/** What a list is made of, and the text at its end. */
interface Parts { readonly parts: readonly Part[], readonly tail: string }

function compileParts (context: Context, nodes: readonly Statement[]): Parts {
  const parts: Part[] = []
  let text = ''
  for (const node of nodes) {
    if (node.type === 'text') {
      text += node.text
      continue
    }
    parts.push({ text, block: compileStatement(context, node) })
    text = ''
  }
  return { parts, tail: text }
}

/** The same parts, but for blocks that tell of texts: mostly what is printed tells of the texts beside it. */
function compileTracedParts (context: Context, nodes: readonly Statement[]): Parts {
  const parts: Part[] = []
  let before: Literal | undefined
  const push = (block: Block): void => {
    parts.push({ text: before?.text ?? '', block })
    before = undefined
  }
  for (const [index, node] of nodes.entries()) {
    if (node.type === 'text') {
      if (before !== undefined) push(tellLiteral(before))
      before = literalOf(context, node)
      continue
    }
    const next = nodes[index + 1]
    const after = isPrinting(node) && index === nodes.length - 2 && next?.type === 'text' ? literalOf(context, next) : undefined
    push(compileTraced(context, node, { before, after }))
    if (after !== undefined) return { parts, tail: after.text }
  }
  if (before !== undefined) push(tellLiteral(before))
  return { parts, tail: '' }
}

function literalOf (context: Context, node: TextNode): Literal {
  return { text: node.text, ...placeOf(context, node) }
}

function tellLiteral (literal: Literal): Block {
  return { write: traceLiteral(literal), assigns: [], jumps: 0, size: 0 }
}

function compileTraced (context: Context, node: Exclude<Statement, TextNode>, beside: Beside): Block {
  if (isPrinting(node)) return compilePrinting(context, node, beside)
  const block = compileStatement(context, node)
  return { ...block, write: traceStatement(block.write, beside.before, node.type !== 'template') }
}

/** Lists of up to four parts, as the bodies of blocks mostly are, are written out: that saves a tenth of a loop's time. */
function writeAll (parts: readonly Part[], tail: string, cost: number): Write {
  const [t0 = '', t1 = '', t2 = '', t3 = ''] = parts.map(({ text }) => text)
  const [w0, w1, w2, w3, ...more] = parts.map(({ block }) => block.write)
  if (w0 === undefined) return writeText(tail, cost)
  if (more.length > 0) return writeMany(parts, tail, cost)
  if (w1 === undefined) {
    return (machine, dot) => {
      machine.run.charge(cost)
      return checked(machine, t0 + w0(machine, dot) + tail)
    }
  }
  if (w2 === undefined) {
    return (machine, dot) => {
      machine.run.charge(cost)
      return checked(machine, t0 + w0(machine, dot) + t1 + w1(machine, dot) + tail)
    }
  }
  if (w3 === undefined) {
    return (machine, dot) => {
      machine.run.charge(cost)
      return checked(machine, t0 + w0(machine, dot) + t1 + w1(machine, dot) + t2 + w2(machine, dot) + tail)
    }
  }
  return (machine, dot) => {
    machine.run.charge(cost)
    return checked(machine, (t0 + w0(machine, dot)) + (t1 + w1(machine, dot)) + (t2 + w2(machine, dot)) + (t3 + w3(machine, dot)) + tail)
  }
}

function writeText (text: string, cost: number): Write {
  return machine => {
    machine.run.charge(cost)
    return text
  }
}

function writeMany (parts: readonly Part[], tail: string, cost: number): Write {
  const texts = parts.map(({ text }) => text)
  const writes = parts.map(({ block }) => block.write)
  return (machine, dot) => {
    machine.run.charge(cost)
    let text = ''
    for (let index = 0; index < writes.length; index++) {
      text += texts[index] as string
      text += (writes[index] as Write)(machine, dot)
      checked(machine, text)
    }
    return text + tail
  }
}

/** The text, unless it has grown beyond the limit. */
function checked (machine: Machine, text: string): string {
  if (text.length > machine.outputLimit) machine.run.checkOutput(text.length)
  return text
}

/** A list in which something may jump: what is jumped over, or might be, does not run. */
function writeUntilJump (parts: readonly Part[], tail: string, cost: number): Write {
  return (machine, dot) => {
    machine.run.charge(cost)
    let text = ''
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index] as Part
      text = checked(machine, text + part.text + part.block.write(machine, dot))
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
