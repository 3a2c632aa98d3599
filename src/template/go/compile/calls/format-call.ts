import { type Position } from '../../../position.ts'
import { NOTHING, PENDING } from '../../../value.ts'
import { format } from '../../builtins/builtins.ts'
import { describeNode } from '../../syntax/describe-node.ts'
import { type Operand } from '../../syntax/node.ts'
import { type GoValue } from '../../value/go-value.ts'
import { kindOf, typeName } from '../../value/kind.ts'
import { type Expression } from '../code.ts'
import { type Machine } from '../machine.ts'
import { settle } from '../settle.ts'
import { type Context, failure } from '../unit.ts'
import { type Call, callExpression } from './call-site.ts'

/** Compiles a call of `printf`. As in Go, the first argument (the format, which must be a text) is checked before the arguments after it are evaluated. */
export function compileFormat (context: Context, call: Call): Expression {
  const { operands: { all, places, isPiped }, written } = call
  const last = all.length - 1
  const [first] = written
  const constant = first && constantProblem(first)
  const valueAt = (machine: Machine, index: number, value: GoValue): GoValue => {
    const known = settle(machine, value, places[index] as Position)
    const problem = index === 0 ? typeProblem(known, (all[0] as Expression).isBoxed) : undefined
    if (problem === undefined) return known
    throw failure(context, isPiped && last === 0 ? call.identifier : (all[0] as Expression).last(machine), problem)
  }
  return callExpression(call, (machine, dot) => {
    const piped = isPiped ? (all[last] as Expression).evaluate(machine, dot) : null
    if (constant !== undefined) throw failure(context, first as Operand, constant)
    const values = all.map((operand, index) => valueAt(machine, index, isPiped && index === last ? piped : operand.evaluate(machine, dot)))
    if (values.includes(PENDING)) return PENDING
    const [text, ...args] = values
    return text === NOTHING ? NOTHING : format(machine.builtins, text as string, args)
  })
}

/** The reason why a constant operand cannot be the format of `printf`; `undefined` when it can be, and for an operand that is no constant. */
function constantProblem (operand: Operand): string | undefined {
  switch (operand.type) {
    case 'nil': return 'cannot assign nil to string'
    case 'bool':
    case 'number': return `expected string; found ${describeNode(operand)}`
    default: return undefined
  }
}

/** The reason why a value cannot be the format of `printf`; `undefined` when it can be, and while the value is not known yet. */
function typeProblem (value: GoValue, isBoxed: boolean): string | undefined {
  if (typeof value === 'string' || value === PENDING || value === NOTHING) return undefined
  if (kindOf(value) === 'nil' && !isBoxed) return 'invalid value; expected string'
  return `wrong type for value; expected string; got ${kindOf(value) === 'nil' ? 'interface {}' : typeName(value)}`
}
