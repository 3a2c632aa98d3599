import type { Violation } from '../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, type MutableObject, objectOf, ownField, setMember } from '../base/json.ts'
import { isObject } from '../template/value.ts'
import { type CompiledSchema, compileSchema, SchemaError } from '../schema/compile.ts'

export interface Parameters {
  readonly names: readonly string[]
  readonly defaults: JsonObject
  readonly schema: JsonObject
  readonly compiled: CompiledSchema
}

/** Forms: a list `[{ name, type, default, description, required }]`, a JSON Schema, or a bare map of properties. @throws SchemaError */
export function parseParameters (declared: Json, compile: typeof compileSchema = compileSchema): Parameters {
  if (Array.isArray(declared)) return fromList(declared, compile)
  if (!isJsonObject(declared)) throw new SchemaError('must be a list of parameters, a JSON Schema, or a map of properties')
  return fromSchema(isSchema(declared) ? declared : fromMap(declared), compile)
}

function fromList (list: readonly Json[], compile: typeof compileSchema): Parameters {
  const seen = new Set<string>()
  const properties = list.map((item, index): [string, JsonObject] => {
    if (!isJsonObject(item) || typeof item['name'] !== 'string' || item['name'] === '') throw new SchemaError(`[${index}] needs a "name"`)
    if (seen.has(item['name'])) throw new SchemaError(`[${index}] repeats the name "${item['name']}"`)
    seen.add(item['name'])
    return [item['name'], item]
  })
  const isRequired = ([, item]: [string, JsonObject]) => Object.hasOwn(item, 'required') ? item['required'] === true : !Object.hasOwn(item, 'default')
  return fromSchema(objectSchema(properties, isRequired), compile, properties.map(([name]) => name))
}

function fromMap (map: JsonObject): JsonObject {
  const properties = Object.entries(map).map(([name, item]): [string, JsonObject] => {
    if (!isJsonObject(item)) throw new SchemaError(`"${name}" must be a JSON Schema`)
    return [name, item]
  })
  return objectSchema(properties, ([, item]) => item['required'] === true)
}

function objectSchema (properties: readonly [string, JsonObject][], isRequired: (property: [string, JsonObject]) => boolean): JsonObject {
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, item]) => [name, propertySchema(item)])),
    required: properties.filter(isRequired).map(([name]) => name)
  }
}

function propertySchema (item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([keyword, value]) => keyword !== 'name' && !(keyword === 'required' && typeof value === 'boolean')))
}

function fromSchema (schema: JsonObject, compile: typeof compileSchema, names?: readonly string[]): Parameters {
  const compiled = compile(schema)
  const properties = propertiesOf(schema)
  const defaults = Object.entries(properties).flatMap(([name, property]): [string, Json][] =>
    isJsonObject(property) && Object.hasOwn(property, 'default') ? [[name, property['default'] as Json]] : [])
  return { names: names ?? Object.keys(properties), defaults: Object.fromEntries(defaults), schema, compiled }
}

const DESCRIBING = new Set(['$schema', '$id', '$defs', 'definitions', 'properties'])

export function violationsOfDefaults ({ defaults, schema }: Parameters, root: string): readonly Violation[] {
  if (Object.keys(defaults).length === 0) return []
  try {
    return compileSchema(Object.fromEntries(Object.entries(schema).filter(([keyword]) => DESCRIBING.has(keyword)))).validate(defaults, root)
  } catch (error) {
    // A `$ref` leads to a keyword that the filter above has dropped.
    if (error instanceof SchemaError) return []
    throw error
  }
}

function propertiesOf (schema: JsonObject): JsonObject {
  return objectOf(ownField(schema, 'properties'))
}

export function expectsStructure (parameters: Parameters | undefined): boolean {
  const type = ownField(parameters?.schema, 'type')
  return typeof type === 'string' && type !== 'string'
}

/** The members of a bare map are all objects: `type` is a text in a schema, but a parameter of that name in a map. */
function isSchema (declared: JsonObject): boolean {
  const own = (keyword: string) => ownField(declared, keyword)
  if (['$schema', '$ref', '$id', 'type'].some(keyword => typeof own(keyword) === 'string')) return true
  if (['type', 'required', 'enum', 'allOf', 'anyOf', 'oneOf'].some(keyword => Array.isArray(own(keyword)))) return true
  const properties = own('properties')
  if (isJsonObject(properties)) {
    return Object.values(properties).every(member => typeof member === 'boolean' || isJsonObject(member))
  }
  return Object.keys(declared).length === 0
}

/** Maps a call's arguments to the one object that the tool takes. It never throws, since a wrong call must not fail the whole render. */
export function mapArguments (parameters: Parameters | undefined, positional: readonly Json[], named: JsonObject): JsonObject {
  const sole = positional.length === 1 && Object.keys(named).length === 0 ? positional[0] as Json : null
  if (isObject(sole)) {
    const whole = withDefaults(parameters, sole as JsonObject)
    if (parameters === undefined || !firstAdmitsObject(parameters) || parameters.compiled.validate(whole).length === 0) return whole
  }
  const given: MutableObject = {}
  for (const [index, value] of positional.entries()) setMember(given, parameters?.names[index] ?? surplusName(index), value)
  for (const name of Object.keys(named)) setMember(given, name, named[name] as Json)
  return withDefaults(parameters, given)
}

export function checkArguments (parameters: Parameters | undefined, mapped: JsonObject): Violation[] {
  const surplus = Object.keys(mapped).filter(name => SURPLUS.test(name))
  if (surplus.length > 0) return surplus.map(name => ({ path: name, message: `is one too many: ${takes(parameters)}` }))
  return parameters?.compiled.validate(mapped, 'arguments') ?? []
}

const SURPLUS = /^arguments\[\d+\]$/

function surplusName (index: number): string {
  return `arguments[${index}]`
}

function takes (parameters: Parameters | undefined): string {
  const names = parameters?.names ?? []
  return names.length === 0 ? 'the tool declares no parameters' : `the tool takes ${names.join(', ')}`
}

function withDefaults (parameters: Parameters | undefined, given: JsonObject): JsonObject {
  const leftOut = Object.entries(parameters?.defaults ?? {}).filter(([name]) => !Object.hasOwn(given, name))
  if (leftOut.length === 0) return given
  const whole: MutableObject = { ...given }
  for (const [name, value] of leftOut) setMember(whole, name, value)
  return whole
}

/** A sole object can be the first parameter only if the schema lets that one be an object. */
function firstAdmitsObject ({ names, schema }: Parameters): boolean {
  const first = names[0]
  if (first === undefined) return false
  const property = propertiesOf(schema)[first] as Json
  if (!isJsonObject(property) || !Object.hasOwn(property, 'type')) return property !== false
  return property['type'] === 'object' || (Array.isArray(property['type']) && property['type'].includes('object'))
}
