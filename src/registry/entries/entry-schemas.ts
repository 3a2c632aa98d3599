import { type ErrorObject } from 'ajv'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { type Json } from '../../base/json.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { isObject } from '../../template/value.ts'
import { beginningOf, kindInWords, typeInWords } from '../../base/text.ts'
import { RejectedEntry } from '../diagnostic/diagnostic.ts'
import { validators } from './entry-validators.ts'
import { type Fields } from './misspelt-fields.ts'

/** As much of a schema as is read here. */
interface Schema {
  readonly $id?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** What `jsonschema/` says of one kind of entries. */
export interface EntrySchema {
  /** @throws RejectedEntry with every violation */
  check (value: Json): void
  /** The fields that are looked at. */
  readonly fields: Fields
}

/**
 * Reads the schema of a kind of entries; the file of the kind calls this once.
 * @param name of its file in `jsonschema/`, without the ending
 * @param part the name of the definition in the file that entries are held to; left out for the whole
 */
export function entrySchema (name: string, part?: string): EntrySchema {
  const schema = readPublishedSchema<Schema>(name)
  const meant = part === undefined ? schema : schema.$defs?.[part]
  return { check: checker(name), fields: fieldsOf(meant, schema.$defs) }
}

function fieldsOf (schema: Schema | undefined, definitions: Schema['$defs'] = {}): Fields {
  const meant = definitions[schema?.$ref?.replace('#/$defs/', '') ?? ''] ?? schema
  const shape = meant?.properties !== undefined ? 'object' : meant?.items !== undefined ? 'list' : 'map'
  const each = { object: meant, list: meant?.items, map: typeof meant?.additionalProperties === 'object' ? meant.additionalProperties : undefined }[shape]
  const properties = Object.entries(each?.properties ?? {})
  const below = properties.map(([name, property]) => [name, fieldsOf(property, definitions)] as const)
  return { shape, names: properties.map(([name]) => name), below: new Map(below.filter(([, { names }]) => names.length > 0)) }
}

function checker (name: string) {
  return (value: Json): void => {
    if (!Object.hasOwn(validators, name)) throw new Error(`no checker of ${name} entries in entry-validators.ts`)
    const validate = validators[name as keyof typeof validators]()
    if (validate(value) === true) return
    // Members of an if/then or allOf are reported by themselves; the wrapper's own line says nothing more.
    const violations = (validate.errors ?? []).filter(error => error.keyword !== 'if' && !isInsideOneOf(error))
    throw new RejectedEntry(violations.slice(0, 20).map(error => ({ severity: 'error', code: 'SCHEMA', message: describe(error), field: fieldOf(error) })))
  }
}

function isInsideOneOf (error: ErrorObject): boolean {
  return error.schemaPath.includes('/oneOf/')
}

/** What is there instead, such as a misspelt name. */
function present (value: Json): string {
  const names = (isObject(value) ? Object.keys(value) : []).slice(0, 5).map(name => `"${beginningOf(name, 40)}"`)
  return names.length === 0 ? '' : `, and it has ${names.join(', ')}`
}

function describe (error: ErrorObject): string {
  const where = error.instancePath === '' ? 'the value' : error.instancePath.slice(1).replaceAll('/', '.')
  const comment: unknown = error.parentSchema?.['$comment']
  if (typeof comment === 'string') return `${where}: ${comment}${present(error.data as Json)}`
  return `${where} ${inPlainWords(error)}`
}

/** What leads to what is wrong: of a member that must not be there, itself; of one that is missing, to where it would be. */
function fieldOf ({ instancePath, keyword, params }: ErrorObject): JsonPath {
  const names = instancePath.split('/').slice(1).map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keyword === 'additionalProperties' ? [...names, String(params['additionalProperty'])] : names
}

function inPlainWords ({ keyword, params, data, message = 'is invalid' }: ErrorObject): string {
  switch (keyword) {
    case 'type': return `must be ${[params['type'] as string | string[]].flat().map(typeInWords).join(' or ')}, not ${kindInWords(data)}`
    case 'enum': return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}, not ${typeof data === 'string' ? `"${beginningOf(data, 40)}"` : kindInWords(data)}`
    case 'required': return `needs "${String(params['missingProperty'])}"${present(data as Json)}`
    case 'additionalProperties': return `must not have "${beginningOf(String(params['additionalProperty']), 40)}"`
    default: return / NOT have fewer than 1 /.test(message) ? 'must not be empty' : message.replace(' NOT ', ' not ')
  }
}
