import { type Value } from '../../value.ts'
import { hasLoneSurrogate, toUnicode } from '../value/bytes.ts'
import { type GoValue, toPlain } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

// Go strings can have bytes that are no valid UTF-8. Only `slice` and literals make such texts, and note that in the run (`holdsBytes`). A run without
// such a text need not look for bytes in any text, and so never takes a text that a caller has sent for bytes.

/** Returns a value unchanged, and tells the run if it is a text with bytes that are no valid UTF-8. */
export function noteBytes ({ run }: Machine, value: GoValue): GoValue {
  if (typeof value === 'string' && hasLoneSurrogate(value)) run.holdsBytes = true
  return value
}

/**
 * Gives a value in the form that functions, tools and templates of the other language expect: bytes in a text become Unicode. Lists and objects are
 * data, and have no such bytes.
 */
export function toShared ({ run }: Machine, value: GoValue): Value {
  return run.holdsBytes && typeof value === 'string' ? toUnicode(value) : toPlain(value)
}

/** Gives all arguments of a call in the form that functions, tools and templates of the other language expect. */
export function allShared (machine: Machine, values: readonly GoValue[]): Value[] {
  return machine.run.holdsBytes ? values.map(value => toShared(machine, value)) : values.map(toPlain)
}
