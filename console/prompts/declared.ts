/*
 * The parameters that a prompt or a tool declares, in any of the three forms of the service: a list, a JSON Schema of an object, or a map of
 * properties. An edit keeps the form, and all that it is not about.
 */
import { patch } from '../edit/patch.ts'

type JsonObject = Readonly<Record<string, unknown>>

export interface Parameter {
  readonly name: string
  readonly isRequired: boolean
  /** With the name and `required` of its form; `undefined` where it is no object with a name. */
  readonly schema: JsonObject | undefined
  /** As it is declared. */
  readonly source: unknown
}

/** @param declared `undefined` and `null` for none @returns `undefined` for what is none of the three forms */
export function readParameters (declared: unknown): readonly Parameter[] | undefined {
  if (declared === undefined || declared === null) return []
  if (Array.isArray(declared)) return declared.map(readItem)
  if (!isObject(declared)) return undefined
  const required = Array.isArray(declared['required']) ? declared['required'] : []
  const isMap = !isSchema(declared)
  return Object.entries(propertiesOf(declared)).map(([name, source]) => {
    const schema = isObject(source) ? source : undefined
    return { name, isRequired: isMap ? schema?.['required'] === true : required.includes(name), schema, source }
  })
}

function readItem (source: unknown): Parameter {
  if (!isObject(source) || typeof source['name'] !== 'string') return { name: '', isRequired: false, schema: undefined, source }
  return { name: source['name'], isRequired: isRequiredItem(source), schema: source, source }
}

const isRequiredItem = (item: JsonObject): boolean => Object.hasOwn(item, 'required') ? item['required'] === true : !Object.hasOwn(item, 'default')

/** A member of a bare map is an object: `type` is a text in a schema, but a parameter of that name in a map. */
function isSchema (declared: JsonObject): boolean {
  if (['$schema', '$ref', '$id', 'type'].some(keyword => typeof ownOf(declared, keyword) === 'string')) return true
  if (['type', 'required', 'enum', 'allOf', 'anyOf', 'oneOf'].some(keyword => Array.isArray(ownOf(declared, keyword)))) return true
  const properties = ownOf(declared, 'properties')
  if (isObject(properties)) return Object.values(properties).every(member => typeof member === 'boolean' || isObject(member))
  return Object.keys(declared).length === 0
}

const ownOf = (given: JsonObject, name: string): unknown => Object.hasOwn(given, name) ? given[name] : undefined

function propertiesOf (declared: JsonObject): JsonObject {
  if (!isSchema(declared)) return declared
  const properties = ownOf(declared, 'properties')
  return isObject(properties) ? properties : {}
}

export interface Change {
  readonly name?: string
  readonly isRequired?: boolean
  /** Members of its schema; one that is `undefined` is left out from now on. */
  readonly schema?: JsonObject
}

/** @param index of a parameter that has a schema @param change with a name that no other parameter has */
export function changeParameter (declared: unknown, index: number, { name, isRequired, schema = {} }: Change): unknown {
  if (Array.isArray(declared)) {
    return declared.map((item: unknown, at) => {
      if (at !== index || !isObject(item)) return item
      const changed = patch(item, { ...schema, ...(name === undefined ? {} : { name }) })
      if (isRequired === undefined || isRequiredItem(changed) === isRequired) return changed
      const implied = patch(changed, { required: undefined })
      return isRequiredItem(implied) === isRequired ? implied : patch(changed, { required: isRequired })
    })
  }
  if (!isObject(declared)) return declared
  const before = Object.keys(propertiesOf(declared))[index]
  if (before === undefined) return declared
  const after = name ?? before
  const isMap = !isSchema(declared)
  const own = isMap && isRequired !== undefined ? { required: isRequired ? true : undefined } : {}
  const properties = Object.fromEntries(Object.entries(propertiesOf(declared)).map(([each, source]) =>
    each === before ? [after, isObject(source) ? patch(source, { ...schema, ...own }) : source] : [each, source]))
  if (isMap) return properties
  return patch(declared, { properties, ...requiredWith(declared, before, after, isRequired) })
}

function requiredWith (declared: JsonObject, before: string, after: string, isRequired: boolean | undefined): JsonObject {
  const required = ownOf(declared, 'required')
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  const renamed = names.map(each => each === before ? after : each)
  const next = isRequired === undefined || isRequired === renamed.includes(after)
    ? renamed
    : isRequired ? [...renamed, after] : renamed.filter(each => each !== after)
  return required === undefined && next.length === 0 ? {} : { required: next }
}

/** @param name that no other parameter has */
export function addParameter (declared: unknown, name: string): unknown {
  const schema = { type: 'string' }
  if (Array.isArray(declared)) return [...declared as unknown[], { name, ...schema }]
  if (!isObject(declared)) return [{ name, ...schema }]
  const properties = patch(propertiesOf(declared), { [name]: schema })
  return isSchema(declared) ? patch(declared, { properties }) : properties
}

export function removeParameter (declared: unknown, index: number): unknown {
  if (Array.isArray(declared)) return declared.filter((_, at) => at !== index)
  if (!isObject(declared)) return declared
  const name = Object.keys(propertiesOf(declared))[index] ?? ''
  const properties = patch(propertiesOf(declared), { [name]: undefined })
  if (!isSchema(declared)) return properties
  return patch(declared, { properties, ...requiredWith(declared, name, name, false) })
}

/** The members of a schema that the form does not show. */
export function othersOf (schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name, value]) => !SHOWN.has(name) && !(name === 'required' && typeof value === 'boolean')))
}

const SHOWN = new Set(['name', 'type', 'description', 'default', 'enum'])

/** The members beside the properties, of a JSON Schema. */
export function besideOf (declared: unknown): JsonObject {
  if (!isObject(declared) || !isSchema(declared)) return {}
  return Object.fromEntries(Object.entries(declared).filter(([name]) => !['type', 'properties', 'required'].includes(name)))
}

export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
