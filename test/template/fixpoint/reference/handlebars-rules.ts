import { type Json } from '../../../../src/base/json.ts'
import { type Elements, type Rules } from './rules.ts'
import { Absent, isFromTool, isList, isMap, Lazy, NOTHING, type Plain, RenderFailure, Unspecified, type Value } from './values.ts'

/** Handlebars, with what this service adds: what is missing is absent or nothing, and objects print as JSON. */
export const HANDLEBARS_RULES: Rules = {
  isTrue (value) {
    if (value === NOTHING || value instanceof Absent) return false
    return isList(value) ? value.length > 0 : Boolean(value)
  },

  enters: value => value === 0 || HANDLEBARS_RULES.isTrue(value),

  print (value) {
    if (value === NOTHING || value === null) return ''
    return typeof value === 'object' ? JSON.stringify(value) : String(value)
  },

  member (holder, name) {
    if (holder === NOTHING) return NOTHING
    if (holder instanceof Absent) return new Absent()
    if (holder instanceof Lazy) return holder.field(name)
    if (holder === null || typeof holder !== 'object') throw new Unspecified('a member of a scalar')
    return ownMember(holder, name)
  },

  element (holder, key) {
    if (holder === NOTHING) return NOTHING
    if (holder instanceof Absent) return new Absent()
    if (holder === null || typeof holder !== 'object') {
      if (holder) throw new Unspecified('a member of a scalar')
      return holder
    }
    const isName = key !== null && key !== NOTHING && typeof key !== 'object'
    if (holder instanceof Lazy) return isName ? holder.field(String(key)) : new Absent()
    return isName ? ownMember(holder, String(key)) : missing(holder)
  },

  length (value) {
    if (value === NOTHING || value === null) return 0
    if (typeof value === 'string') return value.length
    if (typeof value === 'object') return Object.keys(value).length
    throw error('no length')
  },

  isEqual (left, right) {
    return scalar(left) === scalar(right)
  },

  isLess (left, right) {
    const one = scalar(left)
    const other = scalar(right)
    if (one === null || other === null) return false
    if (typeof one !== typeof other || typeof one === 'boolean') throw error('no order')
    return one < other
  },

  elements (value) {
    if (typeof value !== 'object' || value === null || value instanceof Absent) return undefined
    const elements: Elements = value instanceof Lazy
      ? value.keys().map(key => ({ key, value: value.field(key) }))
      : Object.entries(value).map(([key, element]) => ({ key: isList(value) ? Number(key) : key, value: element as Json }))
    return elements.length === 0 ? undefined : elements
  }
}

function ownMember (holder: Json, name: string): Value {
  const isMember = isMap(holder) || /^\d+$/.test(name)
  return isMember && Object.hasOwn(holder as object, name) ? (holder as { [key: string]: Json })[name] as Json : missing(holder)
}

function missing (holder: Json): Value {
  return isFromTool(holder) ? NOTHING : new Absent()
}

function scalar (value: Plain): string | number | bigint | boolean | null {
  if (value === NOTHING || value === null) return null
  if (typeof value === 'object') throw error('only scalars compare')
  return value
}

function error (message: string): RenderFailure {
  return new RenderFailure('error', message)
}
