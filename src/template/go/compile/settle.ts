import { refuseRoot } from '../../language.ts'
import { type Position } from '../../position.ts'
import { Absent, LazyNode, PENDING } from '../../value.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

/** Settles a value that is about to be printed or compared: an absent one is noted as missing and becomes `PENDING`, a `LazyNode` is read. */
export function settle (machine: Machine, value: GoValue, at: Position): GoValue {
  if (value instanceof LazyNode) refuseRoot(value, 'go', at)
  return settleWhole(machine, value, at)
}

/** Settles an argument of a function such as `json`, or of a tool: these may be given the root, too. */
export function settleWhole (machine: Machine, value: GoValue, at: Position): GoValue {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Absent) return machine.run.miss(value, at)
  return value instanceof LazyNode ? value.read() : value
}

/** Makes variables pending that skipped code could have assigned. Code is skipped when it is not known yet whether it runs. */
export function skip (machine: Machine, slots: readonly number[]): void {
  machine.run.unfinished = true
  for (let index = 0; index < slots.length; index++) machine.variables[slots[index] as number] = PENDING
}

/** Joins lists of variable slots into one, with each slot once. */
export function unionOf (assigns: readonly (readonly number[])[]): readonly number[] {
  return [...new Set(assigns.flat())]
}
