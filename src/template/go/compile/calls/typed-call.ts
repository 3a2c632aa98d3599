import { type Operand } from '../../syntax/node.ts'
import { describeNode } from '../../syntax/describe-node.ts'
import { GoFunction, goFloat, goInt, type GoSignature, type GoType, type GoValue, TYPE_NAMES } from '../../value/go-value.ts'
import { integerOf, kindOf, typeName } from '../../value/kind.ts'
import { NOTHING, PENDING } from '../../../value.ts'
import { type Call, callExpression, checkCount, guarded } from './call-site.ts'
import { CallError } from './call-error.ts'
import { always, type Evaluate, type Expression, never } from '../code.ts'
import { type Machine } from '../machine.ts'
import { evaluateAll, settleAll } from './operands.ts'
import { settle } from '../settle.ts'
import { type Context, failure, placeOf } from '../unit.ts'

const NILABLE: ReadonlySet<GoType> = new Set<GoType>(['any', 'value', 'list', 'map'])
const KINDS: Readonly<Partial<Record<GoType, string>>> = { string: 'string', int: 'int', float64: 'float64', bool: 'bool', list: 'slice', map: 'map' }

type Apply = (machine: Machine, args: readonly GoValue[]) => GoValue

/** A call of a function with Go types: constants take the type of their parameter, all else must have it. */
export function callTyped (context: Context, call: Call, signature: GoSignature, apply: Apply): Expression {
  const { parameters, isVariadic, isBoxed } = signature
  const fixed = isVariadic ? parameters.length - 1 : parameters.length
  const wrong = checkCount(context, call, fixed, isVariadic ? Infinity : fixed)
  if (wrong !== undefined) return wrong
  const { operands, written } = call
  const piped = operands.isPiped ? operands.all.at(-1) : undefined
  const typeAt = (index: number): GoType => parameters[Math.min(index, parameters.length - 1)] as GoType
  const args = written.map((operand, index) => typedArgument(context, operand, operands.all[index] as Expression, typeAt(index)))
  const expression = callExpression(call, (machine, dot) => {
    const early = piped?.evaluate(machine, dot)
    const values = args.map(evaluate => evaluate(machine, dot))
    if (piped !== undefined) values.push(checkPiped(context, expression, machine, settle(machine, early, placeOf(context, call.identifier)), typeAt(written.length)))
    return values.includes(PENDING) ? PENDING : guarded(context, call, () => apply(machine, values))
  }, isBoxed ? always : never)
  return expression
}

function checkPiped (context: Context, expression: Expression, machine: Machine, value: GoValue, type: GoType): GoValue {
  const problem = value === PENDING ? undefined : mismatch(value, false, type)
  if (problem !== undefined) throw failure(context, expression.last(machine), problem)
  return value
}

function typedArgument (context: Context, operand: Operand, expression: Expression, type: GoType): Evaluate {
  switch (operand.type) {
    case 'nil': return NILABLE.has(type) ? expression.evaluate : failing(context, operand, `cannot assign nil to ${TYPE_NAMES[type]}`)
    case 'bool':
    case 'number':
    case 'string': return typedConstant(context, operand, expression, type)
  }
  const at = placeOf(context, operand)
  return (machine, dot) => {
    const value = settle(machine, expression.evaluate(machine, dot), at)
    const problem = value === PENDING ? undefined : mismatch(value, expression.isBoxed(machine), type)
    if (problem !== undefined) throw failure(context, expression.last(machine), problem)
    return value
  }
}

/** A constant has no type of its own: `half 3` is a float, `add 1.0 2` an int. */
function typedConstant (context: Context, operand: Operand, expression: Expression, type: GoType): Evaluate {
  const expected = (what: string): Evaluate => failing(context, operand, `expected ${what}; found ${describeNode(operand)}`)
  const literal = operand.type === 'number' ? operand.literal : undefined
  switch (type) {
    case 'any':
    case 'value': return expression.evaluate
    case 'bool': return operand.type === 'bool' ? expression.evaluate : expected('bool')
    case 'string': return operand.type === 'string' ? expression.evaluate : expected('string')
    case 'int': return literal?.integer === undefined ? expected('integer') : valueOf(goInt(literal.integer))
    case 'float64': return literal?.float === undefined ? expected('float') : valueOf(goFloat(literal.float))
    default: return failing(context, operand, `can't handle ${describeNode(operand)} for arg of type ${TYPE_NAMES[type]}`)
  }
}

function valueOf (value: GoValue): Evaluate {
  return () => value
}

function failing (context: Context, operand: Operand, reason: string): Evaluate {
  return () => {
    throw failure(context, operand, reason)
  }
}

/** Why a value cannot be an argument of a type; `undefined` when it can. */
function mismatch (value: GoValue, isBoxed: boolean, type: GoType): string | undefined {
  const kind = kindOf(value)
  if (type === 'any' || type === 'value' || kind === KINDS[type] || value === NOTHING) return undefined
  const wrong = `wrong type for value; expected ${TYPE_NAMES[type]}; got`
  if (kind !== 'nil') return `${wrong} ${typeName(value)}`
  if (value === null && isBoxed) return `${wrong} interface {}`
  return NILABLE.has(type) ? undefined : `invalid value; expected ${TYPE_NAMES[type]}`
}

/** Go's `call`: its first argument is the function. */
export function callValue (context: Context, call: Call): Expression {
  const { operands, written } = call
  const [callee] = written
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values)) return PENDING
    const [target, ...args] = values
    return guarded(context, call, () => applyValue(target, args, callee === undefined ? reflectText(target) : describeNode(callee)))
  })
}

/** What reflect.Value.String gives. */
function reflectText (value: GoValue): string {
  return typeof value === 'string' ? value : `<${typeName(value)} Value>`
}

function applyValue (target: GoValue, args: readonly GoValue[], name: string): GoValue {
  if (kindOf(target) === 'nil') throw new CallError('call of nil')
  if (!(target instanceof GoFunction)) throw new CallError(`non-function ${name} of type ${typeName(target)}`)
  const { parameters, isVariadic } = target
  const fixed = isVariadic ? parameters.length - 1 : parameters.length
  if (isVariadic ? args.length < fixed : args.length !== fixed) {
    throw new CallError(`wrong number of args for ${name}: got ${args.length} want ${isVariadic ? 'at least ' : ''}${fixed}`)
  }
  return target.apply(args.map((value, index) => prepared(value, parameters[Math.min(index, parameters.length - 1)] as GoType, index)))
}

/** An argument of `call`: integers of any size will do for an int. */
function prepared (value: GoValue, type: GoType, index: number): GoValue {
  const kind = kindOf(value)
  if (type === 'any' || type === 'value' || kind === KINDS[type]) return value
  if (type === 'int' && kind === 'uint8') return integerOf(value)
  if (kind !== 'nil') throw new CallError(`arg ${index}: value has type ${typeName(value)}; should be ${TYPE_NAMES[type]}`)
  if (NILABLE.has(type)) return value
  throw new CallError(`arg ${index}: value is nil; should be of type ${TYPE_NAMES[type]}`)
}
