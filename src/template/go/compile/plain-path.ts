import { dataMember } from '../../data-names.ts'
import { isGoDataName } from '../value/data-names.ts'
import { type GoValue } from '../value/go-value.ts'
import { type PlainPath } from './code.ts'
import { type Machine } from './machine.ts'

/**
 * The plain path that leads from the variable in `slot` (-1 for the dot) through `names`; `undefined` if JavaScript's own objects have a property with
 * one of the names.
 */
export function plainPath (slot: number, names: readonly string[]): PlainPath | undefined {
  return names.every(isGoDataName) ? { slot, names, isOfVariables: names[0] === 'variables' || names[0] === 'args' } : undefined
}

/** Whether a path begins at the scope root (the object with all variables), with the caller's variables. */
export function beginsAtRoot (machine: Machine, dot: GoValue, { slot, isOfVariables }: PlainPath): boolean {
  return isOfVariables && (slot < 0 ? dot : machine.variables[slot]) === machine.root
}

/**
 * The value of a plain path in the data of the dot, of a variable of the template or of the caller. `undefined` when there is none, for example because
 * the path leads to shared variables. Then the path must be evaluated in the usual way.
 */
export function readPlain (machine: Machine, dot: GoValue, { slot, names, isOfVariables }: PlainPath): GoValue | undefined {
  let value = slot < 0 ? dot : machine.variables[slot]
  let index = 0
  if (isOfVariables && value === machine.root) {
    value = machine.variablesOfRoot
    index = 1
  }
  for (; index < names.length; index++) {
    if (typeof value !== 'object' || value === null) return undefined
    value = dataMember(value, names[index] as string)
  }
  return value
}
