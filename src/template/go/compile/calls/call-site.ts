import { describeNode } from '../../syntax/describe-node.ts'
import { type IdentifierNode, type Node, type Operand } from '../../syntax/node.ts'
import { type GoValue } from '../../value/go-value.ts'
import { CallError } from './call-error.ts'
import { type Evaluate, type Expression } from '../code.ts'
import { type Operands } from './operands.ts'
import { type Context, failure, noteFailing } from '../unit.ts'

/** A call of a function in a template: its place and its arguments. */
export interface Call {
  readonly name: string
  /** The syntax-tree node of the function's name. */
  readonly identifier: IdentifierNode
  /** The node of the whole call, for messages. */
  readonly node: Node
  readonly operands: Operands
  /** The arguments that are written after the function's name. An argument that comes through a pipe (`|`) is not among them. */
  readonly written: readonly Operand[]
}

/** Makes the expression for a call; `evaluate` makes the call itself. Go's messages name the call's last written argument, or its name when there is none. */
export function callExpression ({ identifier, operands, node }: Call, evaluate: Evaluate): Expression {
  const { all, isPiped, assigns, size } = operands
  const last = all.at(isPiped ? -2 : -1)
  return {
    evaluate,
    assigns,
    size: size + 1,
    path: `(${describeNode(node)})`,
    isBoxed: false,
    last: last?.last ?? (() => identifier),
    start: identifier.offset
  }
}

/** An expression that fails, when a call has too few or too many arguments; otherwise `undefined`. Go checks the number before it evaluates the arguments. */
export function checkCount (context: Context, call: Call, least: number, most: number): Expression | undefined {
  const count = call.operands.all.length
  if (count >= least && count <= most) return undefined
  const wanted = most === Infinity ? `at least ${least}` : String(least)
  const got = most === Infinity ? call.written.length : count
  const reason = `wrong number of args for ${call.name}: want ${wanted} got ${got}`
  noteFailing(context, call.identifier, reason)
  return callExpression(call, (machine, dot) => {
    if (call.operands.isPiped) call.operands.all.at(-1)?.evaluate(machine, dot)
    throw failure(context, call.identifier, reason)
  })
}

/** Runs the function that a template calls. When it throws a CallError, a RenderError that also names the call is thrown instead. */
export function guarded (context: Context, { node, name }: Call, run: () => GoValue): GoValue {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    throw failure(context, node, `error calling ${name}: ${error.message}`)
  }
}
