import { type Position } from '../../../position.ts'
import { measureArguments } from '../../../functions/cost.ts'
import { FunctionError, type TemplateFunction } from '../../../functions/function.ts'
import { type LinkedTool } from '../../../run/tool-call.ts'
import { NOTHING, PENDING } from '../../../value.ts'
import { type Builtin } from '../../builtins/builtin.ts'
import { BUILTINS } from '../../builtins/builtins.ts'
import { type Command, type IdentifierNode, type Operand } from '../../syntax/node.ts'
import { type GoValue } from '../../value/go-value.ts'
import { CallError } from './call-error.ts'
import { type Call, callExpression, checkCount, guarded } from './call-site.ts'
import { type Expression } from '../code.ts'
import { compileDefault, compileLogic } from './forms.ts'
import { allShared } from '../held-bytes.ts'
import { type Machine } from '../machine.ts'
import { compileFunctionCall, compileIndex, compileLength, compileNot, compileSlice } from './lookups.ts'
import { compileFormat } from './format-call.ts'
import { compileOperands, evaluateAll, settleAll } from './operands.ts'
import { settle, settleWhole } from '../settle.ts'
import { type Context, failure, placeOf } from '../unit.ts'

type Compile = (context: Context, call: Call) => Expression

/** The builtins that have a compiler of their own, with the least and the greatest number of their arguments. */
const FORMS: ReadonlyMap<string, readonly [least: number, most: number, compile: Compile]> = new Map<string, readonly [number, number, Compile]>([
  ['and', [1, Infinity, compileLogic]],
  ['or', [1, Infinity, compileLogic]],
  ['not', [1, 1, compileNot]],
  ['len', [1, 1, compileLength]],
  ['index', [1, Infinity, compileIndex]],
  ['slice', [1, Infinity, compileSlice]],
  ['printf', [1, Infinity, compileFormat]],
  ['call', [1, Infinity, compileFunctionCall]],
  ['default', [2, 2, compileDefault]]
])

/** The names of the functions that every template in Go's language has. */
export const GO_FUNCTION_NAMES: ReadonlySet<string> = new Set([...FORMS.keys(), ...BUILTINS.keys()])

/** Compiles a call by its name: of a builtin, of a function that both languages have, or otherwise of a tool. */
export function callFunction (
  context: Context,
  identifier: IdentifierNode,
  node: Command | IdentifierNode,
  written: readonly Operand[],
  piped: Expression | undefined
): Expression {
  const expression = callByName(context, identifier, node, written, piped)
  return { ...expression, evaluate: context.unit.tracing.making(expression.evaluate) }
}

function callByName (
  context: Context,
  identifier: IdentifierNode,
  node: Command | IdentifierNode,
  written: readonly Operand[],
  piped: Expression | undefined
): Expression {
  const { unit } = context
  const { name } = identifier
  const call: Call = { name, identifier, node, operands: compileOperands(context, written, piped), written }
  const form = FORMS.get(name)
  if (form !== undefined) return checkCount(context, call, form[0], form[1]) ?? form[2](context, call)
  const builtin = BUILTINS.get(name)
  if (builtin !== undefined) return callBuiltin(context, call, builtin)
  const shared = unit.functions.get(name)
  return shared === undefined ? callTool(context, call) : callShared(context, call, shared)
}

function callBuiltin (context: Context, call: Call, builtin: Builtin): Expression {
  const wrong = checkCount(context, call, builtin.least, builtin.most)
  if (wrong !== undefined) return wrong
  const { operands } = call
  if (operands.all.length === 2 && builtin.applyPair !== undefined) return callPair(context, call, builtin.applyPair)
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values)) return PENDING
    return guarded(context, call, () => builtin.apply(machine.builtins, values))
  })
}

/** Compiles a call with two arguments, without making a list of them. Most comparisons are such calls. */
function callPair (context: Context, call: Call, apply: NonNullable<Builtin['applyPair']>): Expression {
  const [{ evaluate: evaluateFirst }, { evaluate: evaluateSecond }] = call.operands.all as [Expression, Expression]
  const [firstPlace, secondPlace] = call.operands.places as [Position, Position]
  const applySettled = (machine: Machine, first: GoValue, second: GoValue): GoValue => {
    const left = typeof first === 'object' ? settle(machine, first, firstPlace) : first
    const right = typeof second === 'object' ? settle(machine, second, secondPlace) : second
    if (left === PENDING || right === PENDING) return PENDING
    try {
      return apply(machine.builtins, left, right)
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      throw failure(context, call.node, `error calling ${call.name}: ${error.message}`)
    }
  }
  if (!call.operands.isPiped) return callExpression(call, (machine, dot) => applySettled(machine, evaluateFirst(machine, dot), evaluateSecond(machine, dot)))
  return callExpression(call, (machine, dot) => {
    const second = evaluateSecond(machine, dot)
    return applySettled(machine, evaluateFirst(machine, dot), second)
  })
}

function callShared (context: Context, call: Call, shared: TemplateFunction): Expression {
  const wrong = checkCount(context, call, shared.arity.least, shared.arity.most)
  if (wrong !== undefined) return wrong
  const { operands } = call
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values, 0, settleWhole)) return PENDING
    try {
      return shared.apply(allShared(machine, values), machine.builtins)
    } catch (error) {
      throw calledWrongly(context, call, error)
    }
  })
}

/** Turns the error of a function into the error to throw: a FunctionError becomes a RenderError that also names the call; any other error stays as it is. */
function calledWrongly (context: Context, { node, name }: Call, error: unknown): unknown {
  return error instanceof FunctionError ? failure(context, node, `error calling ${name}: ${error.message}`) : error
}

/**
 * Compiles the call of a tool. The tool gets its arguments by position, not by name. A result that is null becomes `NOTHING`, so that every field of it
 * is `NOTHING`, too.
 */
function callTool (context: Context, call: Call): Expression {
  const { operands, identifier } = call
  const slot = context.unit.links.get(identifier) as number
  const at = placeOf(context, identifier)
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values, 0, settleWhole)) return PENDING
    const tool = machine.links[slot] as LinkedTool
    const plain = allShared(machine, values)
    try {
      measureArguments(plain, machine.run)
    } catch (error) {
      throw calledWrongly(context, call, error)
    }
    return machine.run.call(tool, plain, {}, at) ?? NOTHING
  })
}
