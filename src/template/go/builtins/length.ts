import { memberNames } from '../../member-names.ts'
import { NOTHING } from '../../value.ts'
import { CallError } from '../compile/calls/call-error.ts'
import { byteLength } from '../value/bytes.ts'
import { type GoValue } from '../value/go-value.ts'
import { kindOf, typeName } from '../value/kind.ts'
import { type BuiltinContext } from './builtin.ts'

/** The function `len` of Go's template language. The length of a string is that in bytes. */
export function lengthOf (context: BuiltinContext, value: GoValue): number {
  if (value === NOTHING) return 0
  switch (kindOf(value)) {
    case 'string':
      context.charge((value as string).length >> 6)
      return byteLength(value as string)
    case 'slice': return (value as readonly GoValue[]).length
    case 'map': return memberNames(value as object).length
    case 'nil': throw new CallError('len of nil pointer')
    default: throw new CallError(`len of type ${typeName(value)}`)
  }
}
