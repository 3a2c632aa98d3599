import { type Violation } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { compileSchema, SchemaError, type CompiledSchema } from './schema.ts'

/** The declared parameters, or the declared result, of a tool or prompt, in whichever form they were written. */
export interface Parameters {
  /** The names in declared order, by which positional arguments get their names. */
  readonly names: readonly string[]
  /** The default values, by name. */
  readonly defaults: JsonObject
  /** The JSON Schema of the object with all values. */
  readonly schema: JsonObject
  readonly compiled: CompiledSchema
}

/**
 * Reads declared parameters in any of three forms: a list `[{ name, type, default, description, required }]`, in which a parameter
 * without `default` is required unless `required: false`; a JSON Schema; or a bare map of properties.
 * @param compile `compileSchemaLater` for parameters that are perhaps never used
 * @throws SchemaError
 */
export function parseParameters (declared: Json, compile: typeof compileSchema = compileSchema): Parameters {
  if (Array.isArray(declared)) return fromList(declared, compile)
  if (!isObject(declared)) throw new SchemaError('must be a list of parameters, a JSON Schema, or a map of properties')
  return fromSchema(isSchema(declared) ? declared as JsonObject : fromMap(declared as JsonObject), compile)
}

function fromList (list: readonly Json[], compile: typeof compileSchema): Parameters {
  const seen = new Set<string>()
  const properties = list.map((item, index): [string, JsonObject] => {
    if (!isObject(item) || typeof item['name'] !== 'string' || item['name'] === '') throw new SchemaError(`[${index}] needs a "name"`)
    if (seen.has(item['name'])) throw new SchemaError(`[${index}] repeats the name "${item['name']}"`)
    seen.add(item['name'])
    return [item['name'], item as JsonObject]
  })
  const isRequired = ([, item]: [string, JsonObject]) => Object.hasOwn(item, 'required') ? item['required'] === true : !Object.hasOwn(item, 'default')
  return fromSchema(objectSchema(properties, isRequired), compile, properties.map(([name]) => name))
}

/** Turns a bare map of properties into a JSON Schema of an object. Each member is a schema, and can have `required: true`. */
function fromMap (map: JsonObject): JsonObject {
  const properties = Object.entries(map).map(([name, item]): [string, JsonObject] => {
    if (!isObject(item)) throw new SchemaError(`"${name}" must be a JSON Schema`)
    return [name, item as JsonObject]
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

/** The schema of one parameter: its list item or map member, without `name` and `required`, which are about the parameter. */
function propertySchema (item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([keyword, value]) => keyword !== 'name' && !(keyword === 'required' && typeof value === 'boolean')))
}

function fromSchema (schema: JsonObject, compile: typeof compileSchema, names?: readonly string[]): Parameters {
  const compiled = compile(schema)
  const properties = propertiesOf(schema)
  const defaults = Object.entries(properties).flatMap(([name, property]): [string, Json][] =>
    isObject(property) && Object.hasOwn(property, 'default') ? [[name, property['default'] as Json]] : [])
  return { names: names ?? Object.keys(properties), defaults: Object.fromEntries(defaults), schema, compiled }
}

/** The keywords that describe properties, without those that say which properties are required. */
const DESCRIBING = new Set(['$schema', '$id', '$defs', 'definitions', 'properties'])

/** Checks the default values against the schemas of their properties. @param root the name of the object with all parameters, for messages */
export function violationsOfDefaults ({ defaults, schema }: Parameters, root: string): readonly Violation[] {
  if (Object.keys(defaults).length === 0) return []
  try {
    return compileSchema(Object.fromEntries(Object.entries(schema).filter(([keyword]) => DESCRIBING.has(keyword)))).validate(defaults, root)
  } catch (error) {
    // A `$ref` leads to a keyword that the filter above has dropped, so the defaults cannot be checked.
    if (error instanceof SchemaError) return []
    throw error
  }
}

/** The properties that a schema declares at its top level. */
export function propertiesOf (schema: JsonObject): JsonObject {
  const properties = Object.hasOwn(schema, 'properties') ? schema['properties'] : undefined
  return properties !== undefined && isObject(properties) ? properties as JsonObject : {}
}

/** Whether one type is declared, and it is not `string`, so that a tool's reply that comes as a text has to be parsed as JSON. */
export function expectsStructure (parameters: Parameters | undefined): boolean {
  const type = parameters !== undefined && Object.hasOwn(parameters.schema, 'type') ? parameters.schema['type'] : undefined
  return typeof type === 'string' && type !== 'string'
}

/**
 * Whether a declaration is a JSON Schema, and not a bare map of properties. The members of such a map are all objects: `type` is a text
 * in a schema, but a parameter of that name in a map.
 */
function isSchema (declared: JsonObject): boolean {
  const own = (keyword: string) => Object.hasOwn(declared, keyword) ? declared[keyword] : undefined
  if (['$schema', '$ref', '$id', 'type'].some(keyword => typeof own(keyword) === 'string')) return true
  if (['type', 'required', 'enum', 'allOf', 'anyOf', 'oneOf'].some(keyword => Array.isArray(own(keyword)))) return true
  const properties = own('properties')
  if (properties !== undefined && isObject(properties)) {
    return Object.values(properties).every(member => typeof member === 'boolean' || isObject(member as Json))
  }
  return Object.keys(declared).length === 0
}
