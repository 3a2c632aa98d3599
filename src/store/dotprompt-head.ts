import { isJsonObject, type Json, type JsonObject, listOf, parseJson, type TextPlace } from '../base/json.ts'
import { yamlToJson } from './decode-value.ts'

export class DotpromptError extends Error {
  override readonly name = 'DotpromptError'
  readonly place: TextPlace
  readonly hint: string | undefined
  /** Such as `ROLE_NESTED`; `undefined` for a mistake without a code of its own. */
  readonly code: string | undefined

  constructor (message: string, place: TextPlace, { hint, code }: { readonly hint?: string, readonly code?: string } = {}) {
    super(message)
    this.place = place
    this.hint = hint
    this.code = code
  }
}

const SCALARS: ReadonlySet<string> = new Set(['any', 'boolean', 'integer', 'null', 'number', 'string'])

const WILDCARD = '(*)'

/** The package dotprompt is a megabyte large: https://google.github.io/dotprompt/reference/picoschema/ @throws Error */
export function schemaFromPico (value: Json): JsonObject {
  if (typeof value === 'string') return scalar(value)
  if (!isJsonObject(value)) throw new Error('it is neither a map nor a type')
  const { type, properties } = value
  if (typeof type === 'string' && (SCALARS.has(type) || type === 'object' || type === 'array')) return value
  return isJsonObject(properties) ? { ...value, type: 'object' } : objectOf(value)
}

function fromPico (value: Json): JsonObject {
  if (typeof value === 'string') {
    const { type, ...schema } = scalar(value)
    return type === 'any' ? schema : { type: type as string, ...schema }
  }
  if (!isJsonObject(value)) throw new Error(`expected a type or a map, got ${JSON.stringify(value).slice(0, 40)}`)
  return objectOf(value)
}

function scalar (text: string): JsonObject {
  const { type, description } = described(text)
  if (!SCALARS.has(type)) throw new Error(`"${type.slice(0, 40)}" is no type`)
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

function ofKind (kind: string, value: Json, isOptional: boolean): JsonObject {
  const { type, description } = described(kind)
  switch (type) {
    case 'array': return { ...orNull({ type, items: fromPico(value) }, isOptional), ...description }
    case 'object': return { ...orNull(fromPico(value), isOptional), ...description }
    case 'enum': {
      const values = listOf(value)
      if (values.length === 0) throw new Error('an enum needs a list of values')
      return { enum: isOptional && !values.includes(null) ? [...values, null] : values, ...description }
    }
    default: throw new Error(`"${type.slice(0, 40)}" is no kind of a property: array, object or enum`)
  }
}

function orNull (schema: JsonObject, isOptional: boolean): JsonObject {
  return isOptional && typeof schema['type'] === 'string' ? { ...schema, type: [schema['type'], 'null'] } : schema
}

function described (text: string): { readonly type: string, readonly description: { readonly description?: string } } {
  const comma = text.indexOf(',')
  return comma === -1 ? { type: text, description: {} } : { type: text.slice(0, comma), description: { description: text.slice(comma + 1).trimStart() } }
}

const SETTINGS: ReadonlyMap<string, string> = new Map([['topP', 'top_p'], ['maxOutputTokens', 'max_tokens'], ['stopSequences', 'stop']])

const TAKEN: ReadonlySet<string> = new Set(['model', 'config', 'input', 'output', 'tools', 'description'])

/** Other fields stay under `x-dotprompt`, which is always present, since it shows the prompt's origin. @throws DotpromptError */
export function readHead (head: string, at: TextPlace): JsonObject {
  if (head.trim() === '') return { 'x-dotprompt': {} }
  const read = yamlToJson(head)
  if (read.kind !== 'text') throw new DotpromptError(read.kind === 'bad' ? read.reason : 'is empty', read.kind === 'bad' ? below(at, read.place) : at)
  const fields = parseJson(read.text)
  if (!isJsonObject(fields)) throw new DotpromptError('has a head that is no map of fields', at)
  const { variant, model, config, input, output, tools, description } = fields
  if (variant !== undefined) throw refuseVariant(at)
  const defaults = { ...(typeof model === 'string' ? { model } : {}), ...settingsOf(config), ...toolsOf(tools, at) }
  const parameters = parametersOf(isJsonObject(input) ? input : {}, at)
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !TAKEN.has(name)))
  return {
    ...(typeof description === 'string' ? { description } : {}),
    ...(parameters === undefined ? {} : { parameters }),
    ...returnsOf(isJsonObject(output) ? output : {}, at),
    ...(Object.keys(defaults).length === 0 ? {} : { defaults }),
    'x-dotprompt': rest
  }
}

/** Variants (`greet.formal.prompt`, or the field `variant`) are not supported. */
export function refuseVariant (at: TextPlace): DotpromptError {
  const hint = 'publish it as a version of the prompt and give that a label, with weights if some requests shall get it; or give it an id of its own'
  return new DotpromptError('is a variant, which prompts do not have here', at, { hint })
}

function settingsOf (config: Json | undefined): JsonObject {
  if (!isJsonObject(config)) return {}
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [SETTINGS.get(name) ?? name, value]))
}

function toolsOf (tools: Json | undefined, at: TextPlace): JsonObject {
  if (tools === undefined || tools === null) return {}
  if (!Array.isArray(tools) || !tools.every(name => typeof name === 'string')) {
    throw new DotpromptError('has tools that are no list of names', at, { hint: 'register the tools, and name them' })
  }
  return tools.length === 0 ? {} : { toolLoop: { tools } }
}

function parametersOf ({ schema, default: defaults }: JsonObject, at: TextPlace): JsonObject | undefined {
  const declared = schema === undefined || schema === null ? undefined : schemaOf(schema, 'input', at)
  if (declared !== undefined && declared['type'] !== 'object') {
    throw new DotpromptError('has an input.schema that is not of an object', at, { hint: 'declare the variables by their names' })
  }
  const properties = isJsonObject(declared?.['properties']) ? declared['properties'] : {}
  const required = new Set(Array.isArray(declared?.['required']) ? declared['required'] as readonly Json[] : [])
  // Absent in Dotprompt, but a missing value is an error here: so it gets the default null.
  const optional = Object.entries(properties).filter(([name, property]) => !required.has(name) && isNullable(property))
  const given = [...optional.map(([name]): [string, Json] => [name, null]), ...Object.entries(isJsonObject(defaults) ? defaults : {})]
  const schemaOfName = (name: string) => Object.hasOwn(properties, name) ? properties[name] as JsonObject : {}
  const filled = given.map(([name, value]): [string, JsonObject] => [name, { ...schemaOfName(name), default: value }])
  if (declared === undefined && filled.length === 0) return undefined
  // Dotprompt finds every variable that was sent; only a schema may refuse those that it does not name.
  return { type: 'object', additionalProperties: true, ...declared, properties: { ...properties, ...Object.fromEntries(filled) } }
}

function isNullable (property: Json): boolean {
  if (!isJsonObject(property) || Object.hasOwn(property, 'default')) return false
  const { type, enum: values } = property
  if (values !== undefined) return Array.isArray(values) && (values as readonly Json[]).includes(null)
  return type === undefined ? Object.keys(property).every(name => name === 'description') : Array.isArray(type) && (type as readonly Json[]).includes('null')
}

function returnsOf ({ format, schema }: JsonObject, at: TextPlace): JsonObject {
  if (schema === undefined || schema === null) return {}
  const returns = schemaOf(schema, 'output', at)
  return format === 'json' ? { returns, structured: true } : { returns }
}

/** `of` is the field of the head. @throws DotpromptError */
function schemaOf (schema: Json, of: string, at: TextPlace): JsonObject {
  try {
    return schemaFromPico(schema)
  } catch (error) {
    throw new DotpromptError(`has an ${of}.schema that is no Picoschema and no JSON Schema: ${(error as Error).message}`, at)
  }
}

/** `at`, the beginning of the head, is the result if `place` is not known. */
function below (at: TextPlace, place: TextPlace | undefined): TextPlace {
  return place === undefined ? at : { line: at.line + place.line - 1, column: place.column }
}
