import { Absent, NOTHING, PENDING } from '../../../value.ts'
import { type GoValue } from '../../value/go-value.ts'
import { truthOf } from '../../value/truth.ts'
import { type Call, callExpression } from './call-site.ts'
import { type Expression } from '../code.ts'
import { type Machine } from '../machine.ts'
import { skip, unionOf } from '../settle.ts'
import { type Context } from '../unit.ts'

/**
 * Compiles `and` or `or`. The result is the first operand that decides it (a false one for `and`, a true one for `or`), otherwise the last operand.
 * The operands after the result are not evaluated.
 */
export function compileLogic ({ unit }: Context, call: Call): Expression {
  const { all, isPiped } = call.operands
  const isOr = call.name === 'or'
  const final = all.length - 1
  const form = unit.forms++
  // An operand whose value is not known yet leaves all operands after it unevaluated, except the piped one, which was evaluated first.
  const written = isPiped ? all.slice(0, -1) : all
  const skipped = assignsBehind(written, all.length)
  const expression = callExpression(call, (machine, dot) => {
    const piped = isPiped ? (all[final] as Expression).evaluate(machine, dot) : null
    for (let index = 0; index < final; index++) {
      const value = (all[index] as Expression).evaluate(machine, dot)
      const truth = truthOf(value)
      if (truth === PENDING) {
        skip(machine, skipped[index] as readonly number[])
        return PENDING
      }
      if (truth === isOr) {
        decide(machine, form, index)
        return value
      }
    }
    decide(machine, form, final)
    return isPiped ? piped : (all[final] as Expression).evaluate(machine, dot)
  })
  if (written.length === 0) return expression
  return { ...expression, last: machine => (written[Math.min(machine.decided?.[form] ?? 0, written.length - 1)] as Expression).last(machine) }
}

function decide (machine: Machine, form: number, operand: number): void {
  machine.decided ??= []
  machine.decided[form] = operand
}

/** For each of `count` operands: the slots (indexes in `Machine.variables`) of the variables that later operands can assign. A piped operand does not count. */
function assignsBehind (written: readonly Expression[], count: number): ReadonlyArray<readonly number[]> {
  const behind = new Array<readonly number[]>(count).fill([])
  for (let index = written.length - 2; index >= 0; index--) {
    const { assigns } = written[index + 1] as Expression
    const further = behind[index + 1] as readonly number[]
    behind[index] = assigns.length === 0 ? further : unionOf([assigns, further])
  }
  return behind
}

/** Compiles `default fallback value`. The value is evaluated first, and the fallback only when there is no value. */
export function compileDefault ({ unit }: Context, call: Call): Expression {
  const [fallback, value] = call.operands.all as [Expression, Expression]
  const evaluateFallback = unit.tracing.fallback(fallback.evaluate)
  return callExpression(call, (machine, dot) => {
    const result = value.evaluate(machine, dot)
    if (result === PENDING) {
      skip(machine, fallback.assigns)
      return PENDING
    }
    return isMissing(result) ? evaluateFallback(machine, dot) : result
  })
}

function isMissing (value: GoValue): boolean {
  return value === null || value === '' || value === NOTHING || value instanceof Absent
}
