import { isJsonObject, type Json, type JsonObject, type MutableObject, setMember, stringifyJson } from '../../base/json.ts'

/**
 * The keywords of JSON Schema whose value is one schema; the next two lists have those with a list of schemas, and with schemas by name.
 */
const SCHEMA: ReadonlySet<string> = new Set([
  'items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedItems', 'unevaluatedProperties'
])
const SCHEMAS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** The keywords of JSON Schema whose value contains no schema, and is copied unchanged. */
const PLAIN: ReadonlySet<string> = new Set([
  'type', 'enum', 'const', 'title', 'description', 'default', 'examples', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum',
  'multipleOf', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'required', 'dependentRequired', 'minContains', 'maxContains', 'readOnly', 'writeOnly', 'deprecated'
])

/** Keywords of JSON Schema 2020-12 that draft-07 does not know: in a draft-07 schema they mean nothing, and are dropped. */
const NEWER: ReadonlySet<string> = new Set([
  'prefixItems', '$defs', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties', 'dependentRequired', 'minContains', 'maxContains', 'deprecated'
])

/**
 * Rewrites a registered schema for an OpenAPI 3.1 document: in draft 2020-12, with known keywords only, and with references
 * that point into the document. Constraints that cannot be expressed are left out, so the result accepts all that the schema
 * accepts, and maybe more.
 * @param place the place of the schema in the document, such as `#/components/schemas/greet`
 */
export function portableSchema (schema: JsonObject, place: string): JsonObject {
  const isOld = /draft-0[67]/.test(typeof schema['$schema'] === 'string' ? schema['$schema'] : '')
  return convert(schema) as JsonObject

  function convert (each: Json): Json {
    if (!isJsonObject(each)) return each === false ? false : {}
    const result: MutableObject = {}
    for (const [keyword, value] of Object.entries(each)) {
      const converted = isOld && NEWER.has(keyword) ? undefined : convertKeyword(keyword, value)
      if (converted !== undefined) setMember(result, keyword, converted)
    }
    if (isOld && Array.isArray(each['items'])) {
      result['prefixItems'] = (each['items'] as readonly Json[]).map(convert)
      if (Object.hasOwn(each, 'additionalItems')) result['items'] = convert(each['additionalItems'] as Json)
    }
    return result
  }

  function convertKeyword (keyword: string, value: Json): Json | undefined {
    // A value that contains the key `$ref` is dropped: tools that search a whole document for references would take that key for a reference.
    if (PLAIN.has(keyword)) return typeof value === 'object' && stringifyJson(value).includes('"$ref"') ? undefined : value
    if (keyword === '$ref') return typeof value === 'string' && leadsToSchema(schema, value) ? place + value.slice(1) : undefined
    if (SCHEMA.has(keyword) && !Array.isArray(value)) return convert(value)
    if (SCHEMAS.has(keyword) && Array.isArray(value)) return (value as readonly Json[]).map(convert)
    if (NAMED.has(keyword) && isJsonObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, convert(member)]))
    return undefined
  }
}

/** Whether a reference is a JSON pointer (not an anchor) to a schema that is still there after the rewriting. */
function leadsToSchema (root: JsonObject, reference: string): boolean {
  if (reference !== '#' && !reference.startsWith('#/')) return false
  const segments = reference === '#' ? [] : reference.slice(2).split('/').map(unescape)
  let place: Json = root
  while (segments.length > 0) {
    const keyword = segments.shift() as string
    const value = memberOf(place, keyword)
    if (SCHEMA.has(keyword)) place = value ?? null
    else if (SCHEMAS.has(keyword) || NAMED.has(keyword)) place = memberOf(value ?? null, segments.shift() ?? '') ?? null
    else return false
  }
  return isJsonObject(place) || typeof place === 'boolean'
}

function memberOf (value: Json, name: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/.test(name) ? (value as readonly Json[])[Number(name)] : undefined
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Decodes a segment of a JSON pointer in a URL fragment: https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function unescape (segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return ''
  }
}
