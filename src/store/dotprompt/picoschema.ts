import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

const SCALARS: ReadonlySet<string> = new Set(['any', 'boolean', 'integer', 'null', 'number', 'string'])

/** The property of a Picoschema that stands for all properties that are not named. */
const WILDCARD = '(*)'

/** The error that a schema is no valid Picoschema; the message names the part that is wrong. */
export class PicoschemaError extends Error {
  override readonly name = 'PicoschemaError'
}

/**
 * Turns a schema in Picoschema (Dotprompt's short form, https://google.github.io/dotprompt/reference/picoschema/) into JSON Schema. A JSON Schema
 * stays as it is. Schemas that a program has registered under a name are not known. The package dotprompt can do the same, but is a megabyte large.
 * @throws PicoschemaError
 */
export function schemaFromPico (value: Json): JsonObject {
  if (typeof value === 'string') return scalar(value)
  if (!isJsonObject(value)) throw new PicoschemaError('it is neither a map nor a type')
  const { type, properties } = value
  if (typeof type === 'string' && (SCALARS.has(type) || type === 'object' || type === 'array')) return value
  return isJsonObject(properties) ? { ...value, type: 'object' } : objectOf(value)
}

function fromPico (value: Json): JsonObject {
  if (typeof value === 'string') {
    const { type, ...schema } = scalar(value)
    return type === 'any' ? schema : { type: type as string, ...schema }
  }
  if (!isJsonObject(value)) throw new PicoschemaError(`expected a type or a map, got ${JSON.stringify(value).slice(0, 40)}`)
  return objectOf(value)
}

/** The JSON Schema of a scalar type in Picoschema, such as `string, its path`. */
function scalar (text: string): JsonObject {
  const { type, description } = described(text)
  if (!SCALARS.has(type)) throw new PicoschemaError(`"${type.slice(0, 40)}" is no type`)
  return { type, ...description }
}

function objectOf (map: JsonObject): JsonObject {
  const properties: Array<readonly [name: string, schema: JsonObject]> = []
  const required: string[] = []
  let others: Json = false
  for (const [key, value] of Object.entries(map)) {
    if (key === WILDCARD) {
      others = fromPico(value)
      continue
    }
    const [, name = key, mark, kind] = /^([^(?]*)(\?)?(?:\((.*)\))?$/s.exec(key) ?? []
    const isOptional = mark !== undefined
    if (!isOptional) required.push(name)
    properties.push([name, kind === undefined ? orNull(fromPico(value), isOptional) : ofKind(kind, value, isOptional)])
  }
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: others
  }
}

/** The JSON Schema of a property whose name in Picoschema says its kind, such as `tags(array, all of them): string`. */
function ofKind (kind: string, value: Json, isOptional: boolean): JsonObject {
  const { type, description } = described(kind)
  switch (type) {
    case 'array': return { ...orNull({ type, items: fromPico(value) }, isOptional), ...description }
    case 'object': return { ...orNull(fromPico(value), isOptional), ...description }
    case 'enum': {
      const values = Array.isArray(value) ? value as readonly Json[] : []
      if (values.length === 0) throw new PicoschemaError('an enum needs a list of values')
      return { enum: isOptional && !values.includes(null) ? [...values, null] : values, ...description }
    }
    default: throw new PicoschemaError(`"${type.slice(0, 40)}" is no kind of a property: array, object or enum`)
  }
}

/** The schema of an optional property, which also allows null. */
function orNull (schema: JsonObject, isOptional: boolean): JsonObject {
  return isOptional && typeof schema['type'] === 'string' ? { ...schema, type: [schema['type'], 'null'] } : schema
}

function described (text: string): { readonly type: string, readonly description: { readonly description?: string } } {
  const comma = text.indexOf(',')
  return comma === -1 ? { type: text, description: {} } : { type: text.slice(0, comma), description: { description: text.slice(comma + 1).trimStart() } }
}
