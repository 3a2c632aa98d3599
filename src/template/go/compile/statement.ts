import { type Beside } from '../../explain/piece.ts'
import { PENDING } from '../../value.ts'
import { type ActionNode, type BranchNode, type Pipe, type Statement, type TextNode } from '../syntax/node.ts'
import { type GoValue } from '../value/go-value.ts'
import { truthOf } from '../value/truth.ts'
import { intText } from '../fmt/integer.ts'
import { compileElse, NO_STATEMENT } from './block.ts'
import { type Block, Kind, type List, type Write } from './code.ts'
import { compilePipe, pathOfPipe, untraced } from './expression.ts'
import { Jump, maybe } from './jump.ts'
import { type Machine } from './machine.ts'
import { compileRange } from './range.ts'
import { type Dot } from './scope.ts'
import { settle, skip, unionOf } from './settle.ts'
import { compileTemplateCall } from './template-call.ts'
import { type Context, placeOf } from './unit.ts'
import { writeList } from './write-list.ts'

/** Compiles a statement other than a text. */
export function compileStatement (context: Context, node: Exclude<Statement, TextNode>): Block {
  switch (node.type) {
    case 'action': return compileAction(context, node)
    case 'template': return compileTemplateCall(context, node)
    case 'range': return context.scope.nested(() => compileRange(context, node))
    case 'break': return jump(Jump.Break)
    case 'continue': return jump(Jump.Continue)
    default: return context.scope.nested(() => compileBranch(context, node))
  }
}

function jump (kind: number): Block {
  const write: Write = (machine, _dot, _value, before) => {
    machine.jump = kind
    return before
  }
  return { ...NO_STATEMENT, write, jumps: kind, size: 1 }
}

/** A statement `{{pipeline}}` that declares no variables. */
type PrintNode = ActionNode & { readonly pipe: { readonly variables: readonly [] } }

/** Whether a statement prints the value of a pipeline. */
export function isPrinting (node: Statement): node is PrintNode {
  return node.type === 'action' && node.pipe.variables.length === 0
}

/** Compiles a `{{pipeline}}` that declares or assigns variables, and so prints nothing. */
function compileAction (context: Context, node: ActionNode): Block {
  const { evaluate, assigns, size } = compilePipe(context, node.pipe)
  return { ...NO_STATEMENT, evaluate, assigns, size }
}

/** Compiles a statement that prints. @param beside the texts beside it, which it reports together with its own when the render is explained */
export function compilePrinting (context: Context, node: PrintNode, beside: Beside): Block {
  const { evaluate, assigns, size } = compilePipe(context, node.pipe)
  const path = pathOfPipe(context, node.pipe)
  const print = printerOf(context, node)
  const write: Write = (machine, _dot, value, before) => before + print(machine, value)
  return {
    evaluate,
    path,
    kind: Kind.Print,
    write,
    writer: context.unit.tracing.writer(placeOf(context, node), beside, path?.names ?? []),
    assigns,
    jumps: 0,
    size
  }
}

/** Makes the function that gives the printed text of a value. */
function printerOf (context: Context, node: ActionNode): (machine: Machine, value: GoValue) => string {
  const at = placeOf(context, node)
  return (machine, value) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number' && Number.isSafeInteger(value)) return intText(value)
    const known = typeof value === 'object' ? settle(machine, value, at) : value
    if (known === PENDING) {
      machine.run.unfinished = true
      return ''
    }
    if (known === null) return ''
    return machine.builtins.printer.text(known)
  }
}

/** Compiles `{{if}}` or `{{with}}`. */
function compileBranch (context: Context, node: BranchNode): Block {
  const { scope } = context
  const setsDot = node.type === 'with'
  const condition = compilePipe(!setsDot && isReading(node.pipe) ? untraced(context) : context, node.pipe)
  const path = pathOfPipe(context, node.pipe)
  const dot: Dot = setsDot ? { path: condition.path, isBoxed: false, isInitial: false } : scope.dot
  const list = scope.withDot(dot, () => scope.block(() => context.unit.compilers.list(context, node.list)))
  const otherwise = compileElse(context, node.otherwise)
  const branches = unionOf([list.assigns, otherwise?.assigns ?? []])
  const jumps = list.jumps | (otherwise?.jumps ?? 0)
  return {
    evaluate: condition.evaluate,
    path,
    kind: setsDot ? Kind.Other : Kind.If,
    write: writeBranch(
      setsDot ? context.unit.tracing.inner(list) : (machine, dot, _value, before) => writeList(machine, list, dot, before),
      otherwise,
      branches,
      maybe(jumps)
    ),
    list,
    assigns: unionOf([condition.assigns, branches]),
    jumps,
    size: condition.size + 1
  }
}

/** Whether a pipeline only reads values. When such a pipeline is the condition of an `if`, nothing that is printed comes from it, so it is not traced. */
function isReading ({ commands, variables }: Pipe): boolean {
  return variables.length === 0 && commands.every(({ operands }) => operands.every(({ type }) => type === 'field' || type === 'variable' || type === 'dot'))
}

function writeBranch (writeThen: Write, otherwise: List | undefined, assigns: readonly number[], maybeJumps: number): Write {
  return (machine, dot, value, before) => {
    const truth = truthOf(value)
    if (truth === true) return writeThen(machine, dot, value, before)
    if (truth === false) return otherwise === undefined ? before : writeList(machine, otherwise, dot, before)
    skip(machine, assigns)
    machine.jump = maybeJumps
    return before
  }
}
