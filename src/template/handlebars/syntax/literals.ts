import { NOTHING, type Value } from '../../value.ts'
import { type Literal } from './ast.ts'
import { type Compiled } from '../compile/compiled.ts'
import { type Environment } from '../compile/environment.ts'
import { UNKNOWN } from '../compile/static-path.ts'

/** Compiles a literal. `undefined` becomes `NOTHING`, and an integer keeps the digits that a double cannot represent. */
export function compileLiteral (literal: Literal, environment: Environment): Compiled {
  const value = literalValue(literal, environment)
  return { evaluate: () => value, where: UNKNOWN }
}

function literalValue (literal: Literal, environment: Environment): Value {
  if (literal.type === 'UndefinedLiteral') return NOTHING
  if (literal.type === 'NullLiteral') return null
  if (literal.type !== 'NumberLiteral' || Number.isSafeInteger(literal.value)) return literal.value
  const digits = environment.collection.source(literal.loc)
  return /^-?\d+$/.test(digits) ? BigInt(digits) : literal.value
}
