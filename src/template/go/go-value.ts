import { isDataName } from '../scope.ts'
import { Absent, LazyNode, memberNames, Nothing, PENDING, type Pending, type Value } from '../value.ts'

/** A value in a template of the Go language: what both languages share, and the types that only Go has. */
export type GoValue = Value | GoFloat | GoByte | GoComplex | readonly GoValue[] | GoMap

/** A map of Go, `map[string]interface {}`. */
export interface GoMap { readonly [key: string]: GoValue }

/** A value of a type that only Go has. */
abstract class GoOnly {}

/** A float64 whose value is an integer, such as the literal `1.0`. A plain number would be an int. */
export class GoFloat extends GoOnly {
  readonly kind = 'float64'
  readonly value: number

  constructor (value: number) {
    super()
    this.value = value
  }
}

/** A byte of a string: Go's uint8. */
export class GoByte extends GoOnly {
  readonly kind = 'uint8'
  readonly value: number

  constructor (value: number) {
    super()
    this.value = value
  }
}

/** A complex number: Go's complex128. */
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

/** Makes a float64. It is an object only when a plain number would be read as an int. */
export function goFloat (value: number): number | GoFloat {
  return Number.isSafeInteger(value) ? new GoFloat(value) : value
}

/** Makes an int. It is a bigint only when it lies outside of JavaScript's safe integers, ±(2^53 - 1). */
export function goInt (value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The value in the form that both languages share: values of types that only Go has become plain ones. */
export function toPlain (value: GoValue): Value {
  if (typeof value !== 'object' || value === null) return value
  if (!(value instanceof GoOnly)) return value as Value
  if (value instanceof GoFloat || value instanceof GoByte) return value.value
  return null
}

/** The names of the properties that Go's own values have. Every other own property of a value is data of a template. */
const GO_NAMES: ReadonlySet<string> = new Set([new GoFloat(0), new GoByte(0), new GoComplex(0, 0)].flatMap(Object.getOwnPropertyNames))

/** Whether a name, as the name of a member, can only be data; like `isDataName`, but for all values of the Go language. */
export function isGoDataName (name: string): boolean {
  return isDataName(name) && !GO_NAMES.has(name)
}

/**
 * Whether a value counts as true in a condition in Go. False are: false, 0, "", nil, and what is empty or missing. `PENDING` when the value is not known
 * yet.
 */
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
