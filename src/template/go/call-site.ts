import type { Position } from '../tags.ts'
import { FunctionError } from '../template-function.ts'
import { PENDING } from '../value.ts'
import { CallError } from './builtins.ts'
import type { GoValue } from './go-value.ts'
import { describeNode, type IdentifierNode, type Node, type Operand } from './node.ts'
import { type RenderState, resolveValue, unionOf } from './render-state.ts'
import { type CompiledExpression, type Context, type Evaluate, failure, noteFailing } from './code.ts'

export interface CallSite {
  readonly name: string
  readonly identifier: IdentifierNode
  readonly node: Node
  readonly operands: Operands
  readonly written: readonly Operand[]
}

/** Go's messages name the last written argument, or the call's name when there is none. */
export function callExpression ({ identifier, operands, node }: CallSite, evaluate: Evaluate): CompiledExpression {
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

/** Go checks the number before it evaluates the arguments. */
export function checkCount (context: Context, call: CallSite, least: number, most: number): CompiledExpression | undefined {
  const count = call.operands.all.length
  if (count >= least && count <= most) return undefined
  const wanted = most === Infinity ? `at least ${least}` : String(least)
  const got = most === Infinity ? call.written.length : count
  const reason = `wrong number of args for ${call.name}: want ${wanted} got ${got}`
  noteFailing(context, call.identifier, reason)
  return callExpression(call, (state, dot) => {
    if (call.operands.isPiped) call.operands.all.at(-1)?.evaluate(state, dot)
    throw failure(context, call.identifier, reason)
  })
}

export function guarded (context: Context, { node, name }: CallSite, run: () => GoValue): GoValue {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof CallError || error instanceof FunctionError)) throw error
    throw failure(context, node, `error calling ${name}: ${error.message}`)
  }
}

interface Operands {
  readonly all: readonly CompiledExpression[]
  readonly places: readonly Position[]
  /** Whether the last argument is piped, and so evaluated first. */
  readonly isPiped: boolean
  readonly assigns: readonly number[]
  readonly size: number
}

export function compileOperands (context: Context, args: readonly Operand[], piped: CompiledExpression | undefined): Operands {
  const all = args.map(operand => context.unit.compilers.operand(context, operand))
  if (piped !== undefined) all.push(piped)
  return {
    all,
    places: all.map(({ start }) => context.unit.tree.source.position(start)),
    isPiped: piped !== undefined,
    assigns: unionOf(all.map(({ assigns }) => assigns)),
    size: all.reduce((sum, { size }) => sum + size, 0)
  }
}

/** Evaluates all arguments, the piped one first as in Go, and gives their values in the order of `all`. A value can still be a `LazyNode` or `Absent`. */
export function evaluateAll ({ all, isPiped }: Operands, state: RenderState, dot: GoValue): GoValue[] {
  const values = new Array<GoValue>(all.length)
  const last = all.length - 1
  if (isPiped) values[last] = (all[last] as CompiledExpression).evaluate(state, dot)
  const count = isPiped ? last : all.length
  for (let index = 0; index < count; index++) values[index] = (all[index] as CompiledExpression).evaluate(state, dot)
  return values
}

export function resolveValues ({ places }: Operands, state: RenderState, values: GoValue[], first = 0, settleOne = resolveValue): boolean {
  let isKnown = true
  for (let index = first; index < values.length; index++) {
    const value = settleOne(state, values[index] as GoValue, places[index] as Position)
    if (value === PENDING) isKnown = false
    values[index] = value
  }
  return isKnown
}
