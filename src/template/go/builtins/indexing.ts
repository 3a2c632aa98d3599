import { type Json } from '../../../base/json.ts'
import { Absent, isToolResult, LazyNode, markToolResult, NOTHING, PENDING } from '../../value.ts'
import { CallError } from '../compile/calls/call-error.ts'
import { joinPath } from '../compile/join-path.ts'
import { byteLength, fromBytes, toBytes } from '../value/bytes.ts'
import { GoByte, type GoMap, type GoValue } from '../value/go-value.ts'
import { integerOf, kindOf, typeName } from '../value/kind.ts'
import { type BuiltinContext } from './builtin.ts'

/**
 * The length of text that costs one visit (a unit of a render's work) when the text is indexed or sliced, in UTF-16 units. It is shorter than for other
 * work, because the text is turned into bytes and back.
 */
const UNITS_PER_VISIT = 16

/**
 * Does one step of the function `index`: gives the element at one key of a list, a map, a string or a branch (a group of shared variables).
 * @param path the path of the container, for the message that a map lacks the key
 */
export function elementOf (context: BuiltinContext, container: GoValue, key: GoValue, path: string): GoValue {
  if (container === NOTHING || container === PENDING) return container
  if (container instanceof Absent) return new Absent(joinPath(container.path, stepName(key)))
  if (container instanceof LazyNode) return container.field(textKey(key))
  switch (kindOf(container)) {
    case 'slice': return listElement(container as readonly GoValue[], key)
    case 'map': return mapElement(container as GoMap, textKey(key), path)
    case 'string': return byteAt(context, container as string, key)
    case 'nil': throw new CallError('index of nil pointer')
    default: throw new CallError(`can't index item of type ${typeName(container)}`)
  }
}

function stepName (key: GoValue): string {
  return typeof key === 'string' || typeof key === 'number' ? String(key) : '*'
}

function textKey (key: GoValue): string {
  if (typeof key === 'string') return key
  throw new CallError(kindOf(key) === 'nil' ? 'value is nil; should be of type string' : `value has type ${typeName(key)}; should be string`)
}

function mapElement (map: GoMap, key: string, path: string): GoValue {
  const value = Object.hasOwn(map, key) ? map[key] : undefined
  if (isToolResult(map)) return value ?? NOTHING
  return value === undefined ? new Absent(joinPath(path, key)) : value
}

function listElement (list: readonly GoValue[], key: GoValue): GoValue {
  if (!isToolResult(list)) {
    const index = indexOf(key, list.length)
    if (index === list.length) throw new CallError('reflect: slice index out of range')
    return list[index] as GoValue
  }
  const kind = kindOf(key)
  if (kind !== 'int' && kind !== 'uint8') indexOf(key, list.length)
  return list[Number(integerOf(key))] ?? NOTHING
}

function byteAt (context: BuiltinContext, text: string, key: GoValue): GoValue {
  context.charge(Math.floor(text.length / UNITS_PER_VISIT))
  const bytes = toBytes(text)
  const index = indexOf(key, bytes.length)
  if (index === bytes.length) throw new CallError('reflect: string index out of range')
  return new GoByte(bytes[index] as number)
}

/** Reads the value of an index as a number. @param most the greatest allowed index @throws CallError for any other value */
function indexOf (key: GoValue, most: number): number {
  const kind = kindOf(key)
  if (kind === 'nil') throw new CallError('cannot index slice/array with nil')
  if (kind !== 'int' && kind !== 'uint8') throw new CallError(`cannot index slice/array with type ${typeName(key)}`)
  const index = integerOf(key)
  if (index < 0 || index > most) throw new CallError(`index out of range: ${index}`)
  return Number(index)
}

/** The lists that `slice` has made, each with the list of which it is a part. Go allows slicing a slice beyond its end, into that list. */
const backing = new WeakMap<object, { readonly whole: readonly GoValue[], readonly start: number, readonly end: number }>()

/** The function `slice` of Go's template language. */
export function sliceOf (context: BuiltinContext, item: GoValue, keys: readonly GoValue[]): GoValue {
  if (item === NOTHING) return NOTHING
  const kind = kindOf(item)
  if (kind === 'nil') throw new CallError('slice of untyped nil')
  if (keys.length > 3) throw new CallError(`too many slice indexes: ${keys.length}`)
  if (kind === 'string') return sliceText(context, item as string, keys)
  if (kind === 'slice') return sliceList(context, item as readonly GoValue[], keys)
  throw new CallError(`can't slice item of type ${typeName(item)}`)
}

function sliceText (context: BuiltinContext, text: string, keys: readonly GoValue[]): string {
  if (keys.length === 3) throw new CallError('cannot 3-index slice a string')
  context.charge(Math.floor(text.length / UNITS_PER_VISIT))
  const length = byteLength(text)
  const [start, end] = bounds(keys, length, length)
  return length === text.length ? text.slice(start, end) : fromBytes(toBytes(text).subarray(start, end))
}

function sliceList (context: BuiltinContext, list: readonly GoValue[], keys: readonly GoValue[]): readonly GoValue[] {
  const { whole, start: offset, end: limit } = backing.get(list) ?? { whole: list, start: 0, end: list.length }
  const [start, end, most] = bounds(keys, list.length, limit - offset)
  context.charge(end - start)
  const part = whole.slice(offset + start, offset + end)
  backing.set(part, { whole, start: offset + start, end: offset + most })
  if (isToolResult(list)) markToolResult(part as readonly Json[])
  return part
}

function bounds (keys: readonly GoValue[], length: number, capacity: number): [start: number, end: number, most: number] {
  const [start = 0, end = length, most = capacity] = keys.map(key => indexOf(key, capacity))
  if (start > end) throw new CallError(`invalid slice index: ${start} > ${end}`)
  if (end > most) throw new CallError(`invalid slice index: ${end} > ${most}`)
  return [start, end, most]
}
