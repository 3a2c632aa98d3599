import { type Value } from '../../value.ts'
import { hasLoneSurrogate, toUnicode } from '../value/bytes.ts'
import { type GoValue, toPlain } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

// Only `slice` and literals make texts of bytes, and they tell the run. So all other texts cost nothing, and texts that a
// caller has sent are not taken for bytes.

/** Gives the value; tells the run if it is a text of bytes. */
export function noteBytes ({ run }: Machine, value: GoValue): GoValue {
  if (typeof value === 'string' && hasLoneSurrogate(value)) run.holdsBytes = true
  return value
}

/** A value as functions, tools and templates of the other language take it. Lists and objects are data and hold no bytes. */
export function toShared ({ run }: Machine, value: GoValue): Value {
  return run.holdsBytes && typeof value === 'string' ? toUnicode(value) : toPlain(value)
}

/** The same of all arguments of a call. */
export function allShared (machine: Machine, values: readonly GoValue[]): Value[] {
  return machine.run.holdsBytes ? values.map(value => toShared(machine, value)) : values.map(toPlain)
}
