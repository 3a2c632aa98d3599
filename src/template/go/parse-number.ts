import { unquoteRune } from './quote.ts'

/** Go's ideal constants: a value of every type that can hold the number. */
export interface NumberLiteral {
  /** 64 bits; `undefined` if it is no such integer. */
  readonly integer: bigint | undefined
  /** 64 bits; `undefined` if it is no such integer. */
  readonly unsigned: bigint | undefined
  readonly float: number | undefined
  readonly complex: { readonly real: number, readonly imaginary: number } | undefined
}

export class NumberError extends Error {}

const MAX_INT = (1n << 63n) - 1n
const MAX_UINT = (1n << 64n) - 1n

/** @throws NumberError */
export function parseCharacter (text: string): NumberLiteral {
  const code = unquoteRune(text)
  if (code === 'invalid syntax') throw new NumberError('invalid syntax')
  if (code === 'malformed') throw new NumberError(`malformed character constant: ${text}`)
  return { integer: BigInt(code), unsigned: BigInt(code), float: code, complex: undefined }
}

/** @throws NumberError */
export function parseComplex (text: string): NumberLiteral {
  const split = Math.max(...[...text.matchAll(/(?<![eEpP])[+-]/g)].map(match => match.index))
  const real = parseFloatLiteral(text.slice(0, split))
  const imaginary = parseFloatLiteral(text.slice(split, -1))
  if (real === undefined || imaginary === undefined) throw new NumberError('syntax error scanning complex number')
  return complexLiteral(real, imaginary)
}

/** @throws NumberError */
export function parseNumber (text: string): NumberLiteral {
  if (text.endsWith('i')) {
    const imaginary = parseFloatLiteral(text.slice(0, -1))
    if (imaginary !== undefined) return complexLiteral(0, imaginary)
  }
  const value = parseInteger(text)
  const integer = value !== undefined && value >= -MAX_INT - 1n && value <= MAX_INT ? value : undefined
  const isUnsigned = value !== undefined && value >= 0n && value <= MAX_UINT && !/^[+-]/.test(text)
  const unsigned = isUnsigned || value === 0n ? value : undefined
  if (integer !== undefined || unsigned !== undefined) return { integer, unsigned, float: Number(integer ?? unsigned), complex: undefined }
  const float = parseFloatLiteral(text)
  if (float === undefined) throw new NumberError(`illegal number syntax: "${text}"`)
  // An integer in form that only a float can represent is too large.
  if (!/[.eEpP]/.test(text)) throw new NumberError(`integer overflow: "${text}"`)
  return { integer: integerOfFloat(float), unsigned: undefined, float, complex: undefined }
}

function complexLiteral (real: number, imaginary: number): NumberLiteral {
  const isReal = imaginary === 0
  return { integer: isReal ? integerOfFloat(real) : undefined, unsigned: undefined, float: isReal ? real : undefined, complex: { real, imaginary } }
}

function integerOfFloat (float: number): bigint | undefined {
  return Number.isInteger(float) && float >= -(2 ** 63) && float < 2 ** 63 ? BigInt(float) : undefined
}

/** As Go's ParseInt with base 0: 0x, 0o, 0b, a leading 0 for octal, underscores. */
function parseInteger (text: string): bigint | undefined {
  const sign = text.startsWith('-') ? -1n : 1n
  const digits = text.replace(/^[+-]/, '')
  const shapes = [/^0[xX](_?[\da-fA-F])+$/, /^0[oO](_?[0-7])+$/, /^0[bB](_?[01])+$/, /^[1-9](_?\d)*$/]
  const plain = digits.replaceAll('_', '')
  if (shapes.some(shape => shape.test(digits))) return sign * BigInt(plain.toLowerCase())
  if (/^0(_?[0-7])*$/.test(digits)) return sign * BigInt(plain === '0' ? plain : `0o${plain}`)
  return undefined
}

/** As Go's ParseFloat; `undefined` for no number, or one that is too large. */
function parseFloatLiteral (text: string): number | undefined {
  const size = text.replace(/^[+-]/, '')
  const value = /^0[xX]/.test(size) ? parseHexFloat(size) : parseDecimalFloat(size)
  if (value === undefined || !Number.isFinite(value)) return undefined
  return text.startsWith('-') ? -value : value
}

function parseDecimalFloat (text: string): number | undefined {
  if (!/^(\d(_?\d)*)?(\.(\d(_?\d)*)?)?([eE][+-]?\d(_?\d)*)?$/.test(text) || !/^\.?\d/.test(text)) return undefined
  return Number(text.replaceAll('_', ''))
}

function parseHexFloat (text: string): number | undefined {
  const match = /^0[xX](_?[\da-fA-F]+(?:_[\da-fA-F]+)*)?(?:\.([\da-fA-F]+(?:_[\da-fA-F]+)*)?)?[pP]([+-]?\d+(?:_\d+)*)$/.exec(text)
  if (match === null || (match[1] === undefined && match[2] === undefined)) return undefined
  const fraction = (match[2] ?? '').replaceAll('_', '')
  const mantissa = BigInt(`0x${(match[1] ?? '').replaceAll('_', '')}${fraction}`)
  return scale(mantissa, Number((match[3] as string).replaceAll('_', '')) - 4 * fraction.length)
}

/** The double nearest to mantissa × 2^exponent: rounded once, with ties to even. */
function scale (mantissa: bigint, exponent: number): number {
  if (mantissa === 0n) return 0
  const bits = mantissa.toString(2).length
  if (bits + exponent > 1024) return Infinity
  if (bits + exponent < -1080) return 0
  // Below 2^-1022 a double has fewer bits.
  const kept = Math.min(53, bits + exponent + 1074)
  const shift = bits - Math.max(kept, 0)
  if (shift <= 0) return Number(mantissa) * 2 ** Math.max(exponent, -1000) * 2 ** Math.min(exponent + 1000, 0)
  const divisor = 1n << BigInt(shift)
  const quotient = mantissa / divisor
  const twice = (mantissa % divisor) * 2n
  const isUp = twice > divisor || (twice === divisor && (quotient & 1n) === 1n)
  const power = exponent + shift
  return Number(isUp ? quotient + 1n : quotient) * 2 ** Math.max(power, -1000) * 2 ** Math.min(power + 1000, 0)
}
