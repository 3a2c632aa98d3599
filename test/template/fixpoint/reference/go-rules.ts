import { type Json, type JsonObject } from '../../../../src/base/json.ts'
import { type Rules } from './rules.ts'
import { Absent, isFromTool, isList, isMap, Lazy, NOTHING, type Plain, RenderFailure, Unspecified, type Value } from './values.ts'

/** Go's text/template, with what this service changes: null prints as empty text, what is missing is absent or nothing. */
export const GO_RULES: Rules = {
  isTrue (value) {
    if (value === NOTHING || value === null || value instanceof Absent) return false
    if (value instanceof Lazy) return value.keys().length > 0
    if (typeof value === 'object') return (isList(value) ? value.length : Object.keys(value).length) > 0
    return Boolean(value)
  },

  enters: value => GO_RULES.isTrue(value),

  print: value => value === NOTHING || value === null ? '' : printNested(value),

  member (holder, name) {
    if (holder === NOTHING) return NOTHING
    if (holder instanceof Absent) return new Absent()
    if (holder instanceof Lazy) return holder.field(name)
    if (holder === null) throw new Unspecified('a field of null')
    if (isMap(holder)) return ownMember(holder, name)
    if (isFromTool(holder)) return NOTHING
    throw error(`no field ${name}`)
  },

  element (holder, key) {
    if (holder === NOTHING) return NOTHING
    if (holder instanceof Absent) return new Absent()
    if (holder instanceof Lazy || isMap(holder)) {
      if (typeof key !== 'string') throw error('a key that is no text')
      return holder instanceof Lazy ? holder.field(key) : ownMember(holder, key)
    }
    if (isList(holder)) return listElement(holder, key)
    if (typeof holder === 'string') return listElement([...Buffer.from(holder)], key)
    throw error('not indexable')
  },

  length (value) {
    if (value === NOTHING) return 0
    if (typeof value === 'string') return Buffer.byteLength(value)
    if (typeof value === 'object' && value !== null) return Object.keys(value).length
    throw error('no length')
  },

  isEqual (left, right) {
    if (isNil(left) || isNil(right)) return isNil(left) && isNil(right)
    if (typeof left === 'object' || kindOf(left) !== kindOf(right)) throw error('not comparable')
    return left === right
  },

  isLess (left, right) {
    if (left === NOTHING || right === NOTHING) return false
    if (kindOf(left) !== kindOf(right) || typeof left === 'boolean' || typeof left === 'object') throw error('no order')
    return (left as number) < (right as number)
  },

  elements (value, hasKey) {
    if (value === NOTHING || value === null || value instanceof Absent) return undefined
    const elements = elementsOf(value, hasKey)
    return elements.length === 0 ? undefined : elements
  }
}

function elementsOf (value: Exclude<Value, typeof NOTHING | null | Absent>, hasKey: boolean): Array<{ key: Json, value: Value }> {
  if (value instanceof Lazy) return value.keys().map(key => ({ key, value: value.field(key) }))
  if (isList(value)) return value.map((element, key) => ({ key, value: element }))
  if (typeof value === 'object') return Object.keys(value).sort().map(key => ({ key, value: ownMember(value as JsonObject, key) }))
  if (!Number.isInteger(value)) throw error('not iterable')
  const count = Math.max(value as number, 0)
  if (hasKey) throw error('an integer has no keys')
  return Array.from({ length: count }, (_, key) => ({ key, value: key }))
}

/** A null inside a tool's result is nothing, so that its own fields are. */
function ownMember (holder: JsonObject, name: string): Value {
  const value = Object.hasOwn(holder, name) ? holder[name] as Json : undefined
  if (isFromTool(holder)) return value ?? NOTHING
  return value === undefined ? new Absent() : value
}

function listElement (list: readonly Json[], key: Plain): Value {
  if (!Number.isInteger(key)) throw error('an index that is no integer')
  const element = list[key as number]
  if (isFromTool(list)) return element ?? NOTHING
  if (element === undefined) throw error('out of range')
  return element
}

function printNested (value: Json): string {
  if (isList(value)) return `[${value.map(printNested).join(' ')}]`
  if (isMap(value)) return `map[${Object.keys(value).sort().map(key => `${key}:${printNested(value[key] as Json)}`).join(' ')}]`
  return value === null ? '<nil>' : String(value)
}

function isNil (value: Plain): boolean {
  return value === null || value === NOTHING
}

function kindOf (value: Plain): string {
  return typeof value === 'number' && !Number.isInteger(value) ? 'float64' : typeof value
}

function error (message: string): RenderFailure {
  return new RenderFailure('error', message)
}
