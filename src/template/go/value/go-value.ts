import { type Value } from '../../value.ts'

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
