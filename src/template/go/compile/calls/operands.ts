import { type Position } from '../../../position.ts'
import { PENDING } from '../../../value.ts'
import { type Operand } from '../../syntax/node.ts'
import { type GoValue } from '../../value/go-value.ts'
import { type Expression } from '../code.ts'
import { type Machine } from '../machine.ts'
import { settle, unionOf } from '../settle.ts'
import { type Context } from '../unit.ts'

/** The arguments of a call, the piped one last. */
export interface Operands {
  readonly all: readonly Expression[]
  /** The places at which the arguments are written. */
  readonly places: readonly Position[]
  /** Whether the last argument is piped, and so evaluated first. */
  readonly isPiped: boolean
  readonly assigns: readonly number[]
  readonly size: number
}

export function compileOperands (context: Context, args: readonly Operand[], piped: Expression | undefined): Operands {
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
export function evaluateAll ({ all, isPiped }: Operands, machine: Machine, dot: GoValue): GoValue[] {
  const values = new Array<GoValue>(all.length)
  const last = all.length - 1
  if (isPiped) values[last] = (all[last] as Expression).evaluate(machine, dot)
  const count = isPiped ? last : all.length
  for (let index = 0; index < count; index++) values[index] = (all[index] as Expression).evaluate(machine, dot)
  return values
}

/** Settles values (reads each `LazyNode`, notes absent ones as missing) from index `first` on, in place. @returns `false` when one of them is not known yet */
export function settleAll ({ places }: Operands, machine: Machine, values: GoValue[], first = 0, settleOne = settle): boolean {
  let isKnown = true
  for (let index = first; index < values.length; index++) {
    const value = settleOne(machine, values[index] as GoValue, places[index] as Position)
    if (value === PENDING) isKnown = false
    values[index] = value
  }
  return isKnown
}
