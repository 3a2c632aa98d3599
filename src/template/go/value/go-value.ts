import { type Value } from '../../value.ts'

/** A value inside the Go engine: what both languages share, plus what only Go tells apart. */
export type GoValue = Value | GoFloat | GoByte | GoComplex | readonly GoValue[] | GoMap

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

/** A float64: boxed when a plain number would read as an int. */
export function goFloat (value: number): number | GoFloat {
  return Number.isSafeInteger(value) ? new GoFloat(value) : value
}

/** An int: a bigint only where a double cannot hold it. */
export function goInt (value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The value as both languages know it; what only Go tells apart becomes plain. */
export function toPlain (value: GoValue): Value {
  if (typeof value !== 'object' || value === null) return value
  if (!(value instanceof GoOnly)) return value as Value
  if (value instanceof GoFloat || value instanceof GoByte) return value.value
  return null
}
