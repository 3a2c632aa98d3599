import { ALONE, type Beside } from '../../trace/piece.ts'
import { PENDING } from '../../value.ts'
import { type ActionNode, type BranchNode, type ListNode, type Pipe, type Statement, type TextNode } from '../syntax/node.ts'
import { GoFunction, type GoValue } from '../value/go-value.ts'
import { typeName } from '../value/kind.ts'
import { truthOf } from '../value/truth.ts'
import { intText } from '../fmt/integer.ts'
import { describeNode } from '../syntax/describe-node.ts'
import { type Block, type Expression, never, type Write } from './code.ts'
import { compilePipe, pathOfPipe, untraced } from './expression.ts'
import { Jump, maybe } from './jump.ts'
import { compileList } from './list.ts'
import { type Machine } from './machine.ts'
import { compileRange } from './range.ts'
import { type Dot } from './scope.ts'
import { settle, skip, unionOf } from './settle.ts'
import { compileTemplateCall } from './template-call.ts'
import { traceHeader, traceWith } from './tracing.ts'
import { traceWriting } from './tracing-paths.ts'
import { type Context, failure, placeOf } from './unit.ts'

/** Compiles a statement that is no text. */
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
  const write: Write = machine => {
    machine.jump = kind
    return ''
  }
  return { write, assigns: [], jumps: kind, size: 1 }
}

/** `{{pipeline}}` without variables. */
type PrintNode = ActionNode & { readonly pipe: { readonly variables: readonly [] } }

/** Whether a statement prints a pipeline. */
export function isPrinting (node: Statement): node is PrintNode {
  return node.type === 'action' && node.pipe.variables.length === 0
}

/** `{{pipeline}}` prints, unless it declares or assigns. */
function compileAction (context: Context, node: ActionNode): Block {
  if (isPrinting(node)) return compilePrinting(context, node, ALONE)
  const { evaluate, assigns, size } = compilePipe(context, node.pipe)
  const write: Write = (machine, dot) => {
    evaluate(machine, dot)
    return ''
  }
  return { write, assigns, jumps: 0, size }
}

/**
 * Compiles a statement that prints.
 * @param beside the texts that it tells of when it is explained
 */
export function compilePrinting (context: Context, node: PrintNode, beside: Beside): Block {
  const { evaluate, assigns, size } = compilePipe(context, node.pipe)
  const print = printerOf(context, node)
  const write: Write = (machine, dot) => {
    const value = evaluate(machine, dot)
    return typeof value === 'string' ? value : print(machine, value)
  }
  const isTraced = context.unit.explain
  return { write: isTraced ? traceWriting(write, pathOfPipe(context, node.pipe), placeOf(context, node), beside) : write, assigns, jumps: 0, size }
}

/** Prints what is no string. */
function printerOf (context: Context, node: ActionNode): (machine: Machine, value: GoValue) => string {
  const at = placeOf(context, node)
  const nothing = context.unit.rules.emptyNull ? '' : '<no value>'
  return (machine, value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return intText(value)
    const known = typeof value === 'object' ? settle(machine, value, at) : value
    if (known === PENDING) {
      machine.run.unfinished = true
      return ''
    }
    if (known === null || known === undefined) return nothing
    if (known instanceof GoFunction) throw failure(context, node, `can't print ${describeNode(node)} of type ${typeName(known)}`)
    return machine.builtins.printer.text(known)
  }
}

/** `{{if}}` and `{{with}}`. */
function compileBranch (context: Context, node: BranchNode): Block {
  const { scope, unit } = context
  const setsDot = node.type === 'with'
  const isTraced = setsDot && unit.explain
  const pipe = compilePipe(!setsDot && isReading(node.pipe) ? untraced(context) : context, node.pipe)
  const condition = isTraced ? { ...pipe, evaluate: traceHeader(pipe.evaluate) } : pipe
  const dot: Dot = setsDot ? { path: condition.path, isBoxed: never, isInitial: false } : scope.dot
  const list = scope.withDot(dot, () => scope.block(() => compileList(context, node.list)))
  const otherwise = compileElse(context, node.otherwise)
  const branches = [list.assigns, otherwise?.assigns ?? []]
  return {
    write: writeBranch(condition, isTraced ? traceWith(list.write) : list.write, otherwise?.write, setsDot, unionOf(branches), maybe(list.jumps | (otherwise?.jumps ?? 0))),
    assigns: unionOf([condition.assigns, ...branches]),
    jumps: list.jumps | (otherwise?.jumps ?? 0),
    size: condition.size + 1
  }
}

/** Whether a pipeline does no more than to look at values: then, as a condition, it is no source of anything. */
function isReading ({ commands, variables }: Pipe): boolean {
  return variables.length === 0 && commands.every(({ operands }) => operands.every(({ type }) => type === 'field' || type === 'variable' || type === 'dot'))
}

/** The else list of a block, if it has one. */
export function compileElse (context: Context, list: ListNode | undefined): Block | undefined {
  return list === undefined ? undefined : context.scope.block(() => compileList(context, list))
}

function writeBranch ({ evaluate }: Expression, list: Write, otherwise: Write | undefined, setsDot: boolean, assigns: readonly number[], maybeJumps: number): Write {
  return (machine, dot) => {
    const value = evaluate(machine, dot)
    const truth = truthOf(value)
    if (truth === true) return list(machine, setsDot ? value : dot)
    if (truth === false) return otherwise === undefined ? '' : otherwise(machine, dot)
    skip(machine, assigns)
    machine.jump = maybeJumps
    return ''
  }
}
