import { type Position } from '../../../position.ts'
import { Absent, LazyNode, PENDING } from '../../../value.ts'
import { elementOf, sliceOf } from '../../builtins/indexing.ts'
import { lengthOf } from '../../builtins/length.ts'
import { describeNode } from '../../syntax/describe-node.ts'
import { type GoValue } from '../../value/go-value.ts'
import { kindOf, typeName } from '../../value/kind.ts'
import { truthOf } from '../../value/truth.ts'
import { type Call, callExpression, guarded } from './call-site.ts'
import { CallError } from './call-error.ts'
import { type Expression } from '../code.ts'
import { noteBytes } from '../held-bytes.ts'
import { joinPath } from '../join-path.ts'
import { type Machine } from '../machine.ts'
import { evaluateAll, settleAll } from './operands.ts'
import { settle } from '../settle.ts'
import { type Context } from '../unit.ts'

/** Compiles `not`, which tests its argument and so accepts a missing value. */
export function compileNot (_context: Context, call: Call): Expression {
  const [operand] = call.operands.all as [Expression]
  return callExpression(call, (machine, dot) => {
    const truth = truthOf(operand.evaluate(machine, dot))
    return truth === PENDING ? PENDING : truth === false
  })
}

/** Compiles `len`. Of a branch (a group of shared variables) it reads only the names, not the values. */
export function compileLength (context: Context, call: Call): Expression {
  const [operand] = call.operands.all as [Expression]
  const [place] = call.operands.places as [Position]
  return callExpression(call, (machine, dot) => {
    const value = operand.evaluate(machine, dot)
    if (value instanceof LazyNode) {
      const keys = value.keys()
      return keys === PENDING ? PENDING : (keys as readonly string[]).length
    }
    const known = settle(machine, value, place)
    return known === PENDING ? PENDING : guarded(context, call, () => lengthOf(machine.builtins, known))
  })
}

/** Compiles `index`, which descends into shared variables without fetching them, and into an absent value without making that an error. */
export function compileIndex (context: Context, call: Call): Expression {
  const { operands } = call
  const [container] = operands.all as [Expression]
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values, 1)) return PENDING
    return guarded(context, call, () => descend(machine, values, container.path))
  })
}

function descend (machine: Machine, values: readonly GoValue[], start: string): GoValue {
  const [container, ...keys] = values as [GoValue, ...GoValue[]]
  if (container === null) throw new CallError('index of untyped nil')
  let item: GoValue = container
  let path = start
  for (const key of keys) {
    item = elementOf(machine.builtins, item, key, path)
    path = item instanceof Absent ? item.path : joinPath(path, String(key))
  }
  return item
}

/** Compiles `slice`, whose result can be a text with bytes that are no valid UTF-8. */
export function compileSlice (context: Context, call: Call): Expression {
  const { operands } = call
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values)) return PENDING
    const [item, ...keys] = values as [GoValue, ...GoValue[]]
    return noteBytes(machine, guarded(context, call, () => sliceOf(machine.builtins, item, keys)))
  })
}

/** Compiles `call`, which has nothing to call here, because no value is a function. */
export function compileFunctionCall (context: Context, call: Call): Expression {
  const { operands, written: [callee] } = call
  return callExpression(call, (machine, dot) => {
    const values = evaluateAll(operands, machine, dot)
    if (!settleAll(operands, machine, values)) return PENDING
    const [target] = values as [GoValue]
    return guarded(context, call, () => {
      if (kindOf(target) === 'nil') throw new CallError('call of nil')
      throw new CallError(`non-function ${callee === undefined ? reflectText(target) : describeNode(callee)} of type ${typeName(target)}`)
    })
  })
}

/** The text that Go's reflect.Value.String gives for a value. */
function reflectText (value: GoValue): string {
  return typeof value === 'string' ? value : `<${typeName(value)} Value>`
}
