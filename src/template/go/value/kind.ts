import { Nothing } from '../../value.ts'
import { GoByte, GoComplex, GoFloat, type GoValue } from './go-value.ts'

/** The kind of a value in Go. */
export type Kind = 'nil' | 'bool' | 'int' | 'uint8' | 'float64' | 'complex128' | 'string' | 'slice' | 'map'

/** The kind of a value. `NOTHING` counts as nil. */
export function kindOf (value: GoValue): Kind {
  switch (typeof value) {
    case 'string': return 'string'
    case 'number': return Number.isSafeInteger(value) ? 'int' : 'float64'
    case 'bigint': return 'int'
    case 'boolean': return 'bool'
  }
  if (value === null || value instanceof Nothing) return 'nil'
  if (Array.isArray(value)) return 'slice'
  if (value instanceof GoFloat) return 'float64'
  if (value instanceof GoByte) return 'uint8'
  return value instanceof GoComplex ? 'complex128' : 'map'
}

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  nil: '<nil>',
  bool: 'bool',
  int: 'int',
  uint8: 'uint8',
  float64: 'float64',
  complex128: 'complex128',
  string: 'string',
  slice: '[]interface {}',
  map: 'map[string]interface {}'
}

/** Go's name for the type of a value. */
export function typeName (value: GoValue): string {
  return KIND_NAMES[kindOf(value)]
}

/** The number in a value of the kind float64. */
export function floatOf (value: GoValue): number {
  return value instanceof GoFloat ? value.value : value as number
}

/** The integer in a value of the kind int or uint8. */
export function integerOf (value: GoValue): number | bigint {
  return value instanceof GoByte ? value.value : value as number | bigint
}
