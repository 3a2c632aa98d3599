import { type Value } from '../../value.ts'

/**
 * A value inside the Go engine: what both languages share, plus what only Go tells apart. `undefined` is Go's "no
 * value", which exists under Go's own rules only; under the service's rules what is missing is `Absent`.
 */
export type GoValue = Value | GoFloat | GoByte | GoComplex | GoFunction | readonly GoValue[] | GoMap | undefined

/** A `map[string]interface {}`. */
export interface GoMap { readonly [key: string]: GoValue }

/** What only Go tells apart. */
abstract class GoOnly {}

/** A float64 whose value is integral, such as the literal `1.0`; a plain number would be an int. */
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

/** Go's complex128. */
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

/** The type of a parameter of a Go function. */
export type GoType = 'any' | 'value' | 'string' | 'int' | 'float64' | 'bool' | 'list' | 'map'

/** Go's names of those types; `value` is reflect.Value. */
export const TYPE_NAMES: Readonly<Record<GoType, string>> = {
  any: 'interface {}',
  value: 'reflect.Value',
  string: 'string',
  int: 'int',
  float64: 'float64',
  bool: 'bool',
  list: '[]interface {}',
  map: 'map[string]interface {}'
}

/** The types of a Go function. */
export interface GoSignature {
  readonly parameters: readonly GoType[]
  /** The last parameter takes any number of arguments. */
  readonly isVariadic: boolean
  /** Its result is declared as `interface {}`, so that a nil stays an interface. */
  readonly isBoxed: boolean
}

/** A function with Go types, as Go's `Funcs` declares it. */
export class GoFunction extends GoOnly implements GoSignature {
  readonly kind = 'func'
  /** Go's name of its type: `func(int, int) int`. */
  readonly typeName: string
  readonly parameters: readonly GoType[]
  readonly isVariadic: boolean
  readonly isBoxed: boolean
  /** Throws CallError with Go's text when the function returns an error. */
  readonly apply: (args: readonly GoValue[]) => GoValue

  constructor (typeName: string, signature: GoSignature, apply: (args: readonly GoValue[]) => GoValue) {
    super()
    this.typeName = typeName
    this.parameters = signature.parameters
    this.isVariadic = signature.isVariadic
    this.isBoxed = signature.isBoxed
    this.apply = apply
  }
}

/** A float64: boxed when a plain number would read as an int. */
export function goFloat (value: number): number | GoFloat {
  return Number.isSafeInteger(value) ? new GoFloat(value) : value
}

/** An int: a bigint only where a double cannot hold it. */
export function goInt (value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** An int that wraps around at 64 bits, as Go's arithmetic does. */
export function wrapInt (value: bigint): number | bigint {
  return goInt(BigInt.asIntN(64, value))
}

/** The value as both languages know it; what only Go tells apart becomes plain. */
export function toPlain (value: GoValue): Value {
  if (typeof value !== 'object' || value === null) return value ?? null
  if (!(value instanceof GoOnly)) return value as Value
  if (value instanceof GoFloat || value instanceof GoByte) return value.value
  return null
}
