import { isDataName } from '../scope.ts'
import { Absent, LazyNode, memberNames, Nothing, PENDING, type Pending, type Value } from '../value.ts'

export type GoValue = Value | GoFloat | GoByte | GoComplex | readonly GoValue[] | GoMap

export interface GoMap { readonly [key: string]: GoValue }

abstract class GoOnly {}

/** A float64 with an integer value, such as `1.0`: a plain number would be an int. */
export class GoFloat extends GoOnly {
  readonly kind = 'float64'
  readonly value: number

  constructor (value: number) {
    super()
    this.value = value
  }
}

export class GoByte extends GoOnly {
  readonly kind = 'uint8'
  readonly value: number

  constructor (value: number) {
    super()
    this.value = value
  }
}

export class GoComplex extends GoOnly {
  readonly kind = 'complex128'
  readonly real: number
  readonly imaginary: number

  constructor (real: number, imaginary: number) {
    super()
    this.real = real
    this.imaginary = imaginary
  }
}

/** An object only when a plain number would be read as an int. */
export function goFloat (value: number): number | GoFloat {
  return Number.isSafeInteger(value) ? new GoFloat(value) : value
}

/** A bigint only outside of JavaScript's safe integers. */
export function goInt (value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

export function toPlain (value: GoValue): Value {
  if (typeof value !== 'object' || value === null) return value
  if (!(value instanceof GoOnly)) return value as Value
  if (value instanceof GoFloat || value instanceof GoByte) return value.value
  return null
}

const GO_NAMES: ReadonlySet<string> = new Set([new GoFloat(0), new GoByte(0), new GoComplex(0, 0)].flatMap(Object.getOwnPropertyNames))

export function isGoDataName (name: string): boolean {
  return isDataName(name) && !GO_NAMES.has(name)
}

/** As in Go, false are: false, 0, "", nil, and what is empty or missing. */
export function truthOf (value: GoValue): boolean | Pending {
  switch (typeof value) {
    case 'boolean': return value
    case 'string': return value !== ''
    // NaN is true in Go, because it is not zero.
    case 'number': return value !== 0
    case 'bigint': return true
  }
  if (value === null) return false
  if (Array.isArray(value)) return value.length > 0
  return truthOfObject(value)
}

function truthOfObject (value: object): boolean | Pending {
  if (value === PENDING) return PENDING
  if (value instanceof Absent || value instanceof Nothing) return false
  if (value instanceof LazyNode) {
    const keys = value.keys()
    return keys === PENDING ? PENDING : (keys as readonly string[]).length > 0
  }
  if (value instanceof GoFloat || value instanceof GoByte) return value.value !== 0
  if (value instanceof GoComplex) return value.real !== 0 || value.imaginary !== 0
  return memberNames(value).length > 0
}

export type GoKind = 'nil' | 'bool' | 'int' | 'uint8' | 'float64' | 'complex128' | 'string' | 'slice' | 'map'

export function kindOf (value: GoValue): GoKind {
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

const KIND_NAMES: Readonly<Record<GoKind, string>> = {
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

export function typeName (value: GoValue): string {
  return KIND_NAMES[kindOf(value)]
}

export function floatOf (value: GoValue): number {
  return value instanceof GoFloat ? value.value : value as number
}

export function integerOf (value: GoValue): number | bigint {
  return value instanceof GoByte ? value.value : value as number | bigint
}
