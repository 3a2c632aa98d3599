import { NOTHING } from '../../value.ts'
import { CallError } from '../compile/calls/call-error.ts'
import { Flags } from '../fmt/flags.ts'
import { compareTexts } from '../value/bytes.ts'
import { type GoComplex, type GoValue } from '../value/go-value.ts'
import { floatOf, integerOf, type Kind, kindOf, typeName } from '../value/kind.ts'
import { type Builtin, type BuiltinContext } from './builtin.ts'

const VERB_FLAGS = new Flags()

/** The name under which a kind of values is compared: kinds with the same name can be compared with each other. `undefined` for nil, lists and maps. */
function basicKind (kind: Kind): string | undefined {
  if (kind === 'uint8') return 'int'
  return kind === 'nil' || kind === 'slice' || kind === 'map' ? undefined : kind
}

function isEqual (context: BuiltinContext, left: GoValue, right: GoValue): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length !== right.length) return false
    if (left.length >= 64) context.charge(left.length >> 6)
    return left === right
  }
  const leftKind = kindOf(left)
  const rightKind = kindOf(right)
  const kind = basicKind(leftKind)
  if (kind !== basicKind(rightKind)) {
    if (leftKind !== 'nil' && rightKind !== 'nil') throw new CallError('incompatible types for comparison')
    return false
  }
  switch (kind) {
    case 'float64': return floatOf(left) === floatOf(right)
    // The comparison is loose, because an int can be a number on one side and a bigint on the other.
    // eslint-disable-next-line eqeqeq
    case 'int': return integerOf(left) == integerOf(right)
    case 'complex128': return (left as GoComplex).real === (right as GoComplex).real && (left as GoComplex).imaginary === (right as GoComplex).imaginary
    case undefined: return isEqualReference(context, left, right)
    default: return left === right
  }
}

/**
 * Whether two values are equal, when at least one of them is nil, a list or a map. Nil equals only nil.
 * @throws CallError for two lists or maps, which Go does not compare
 */
function isEqualReference ({ printer }: BuiltinContext, left: GoValue, right: GoValue): boolean {
  const leftKind = kindOf(left)
  const rightKind = kindOf(right)
  if (leftKind === 'nil' || rightKind === 'nil') return leftKind === rightKind
  const shown = (value: GoValue): string => printer.text(value)
  if (leftKind !== rightKind) {
    throw new CallError(`non-comparable types ${printer.argument(left, 's', VERB_FLAGS)}: ${typeName(left)}, ${typeName(right)}: ${shown(right)}`)
  }
  throw new CallError(`non-comparable type ${printer.argument(right, 's', VERB_FLAGS)}: ${typeName(right)}`)
}

/** The order of two values: negative, zero or positive; `undefined` when one of them is a NaN or `NOTHING` (the result of a failed tool). */
function order (context: BuiltinContext, left: GoValue, right: GoValue): number | undefined {
  if (left === NOTHING || right === NOTHING) return undefined
  const kind = basicKind(kindOf(left))
  const other = basicKind(kindOf(right))
  if (kind === undefined || other === undefined) throw new CallError('invalid type for comparison')
  if (kind !== other) throw new CallError('incompatible types for comparison')
  switch (kind) {
    case 'int': return compareNumbers(integerOf(left), integerOf(right))
    case 'float64': return compareNumbers(floatOf(left), floatOf(right))
    case 'string':
      context.charge(Math.min((left as string).length, (right as string).length) >> 6)
      return compareTexts(left as string, right as string)
    default: throw new CallError('invalid type for comparison')
  }
}

function compareNumbers (left: number | bigint, right: number | bigint): number | undefined {
  if (left < right) return -1
  if (left > right) return 1
  // eslint-disable-next-line eqeqeq -- a number may equal a bigint
  return left == right ? 0 : undefined
}

/** The function `eq a b c`: whether a equals b or c. It stops at the first value that a equals. */
function equalsAny (context: BuiltinContext, args: readonly GoValue[]): boolean {
  const [first, ...others] = args as [GoValue, ...GoValue[]]
  if (others.length === 0) throw new CallError('missing argument for comparison')
  return others.some(other => isEqual(context, first, other))
}

function comparison (name: string, applyPair: (context: BuiltinContext, left: GoValue, right: GoValue) => boolean): Builtin {
  return { name, least: 2, most: 2, apply: (context, args) => applyPair(context, ...args as [GoValue, GoValue]), applyPair }
}

/** Whether the result of `order` means "less". Go defines `gt` as "not `le`" for floats, too, so `gt` is true when one of them is a NaN. */
const isLess = (order: number | undefined): boolean => order !== undefined && order < 0
const isLessOrEqual = (order: number | undefined): boolean => order !== undefined && order <= 0

/**
 * The comparison functions of Go's template language. When one of the values is `NOTHING` (the result of a failed tool), `lt`, `le`, `gt` and `ge`
 * are false, so that a failed tool does not end the render.
 */
export const COMPARISONS: readonly Builtin[] = [
  { name: 'eq', least: 1, most: Infinity, apply: equalsAny, applyPair: isEqual },
  comparison('ne', (context, left, right) => !isEqual(context, left, right)),
  comparison('lt', (context, left, right) => isLess(order(context, left, right))),
  comparison('le', (context, left, right) => isLessOrEqual(order(context, left, right))),
  comparison('gt', (context, left, right) => isBeyond(order(context, left, right), isLessOrEqual, left, right)),
  comparison('ge', (context, left, right) => isBeyond(order(context, left, right), isLess, left, right))
]

function isBeyond (result: number | undefined, opposite: (order: number | undefined) => boolean, left: GoValue, right: GoValue): boolean {
  return left !== NOTHING && right !== NOTHING && !opposite(result)
}
