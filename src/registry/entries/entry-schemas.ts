import type { ErrorObject } from 'ajv'
import type { JsonPath } from '../../base/json-places.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { beginningOf, describeKind, describeType } from '../../base/text.ts'
import { isObject } from '../../template/value.ts'
import { type Diagnostic, RejectedEntry } from '../diagnostic.ts'
import { isNearly } from '../near-matches.ts'
import { validators } from './entry-validators.ts'

interface MemberSchema {
  readonly $id?: string
  readonly properties?: Readonly<Record<string, MemberSchema>>
  readonly items?: MemberSchema
  readonly additionalProperties?: MemberSchema | boolean
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, MemberSchema>>
}

interface EntrySchema {
  /** @throws RejectedEntry with every violation */
  check (value: Json): void
  readonly fields: Fields
}

/** Called once by the file that defines the kind. `name`: a file in `jsonschema/`, `part`: a definition in it. */
export function entrySchema (name: string, part?: string): EntrySchema {
  const schema = readPublishedSchema<MemberSchema>(name)
  const meant = part === undefined ? schema : schema.$defs?.[part]
  return { check: checker(name), fields: fieldsOf(meant, schema.$defs) }
}

function fieldsOf (schema: MemberSchema | undefined, definitions: MemberSchema['$defs'] = {}): Fields {
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
    // The errors inside say what is wrong; the one of the `if` itself adds nothing.
    const violations = (validate.errors ?? []).filter(error => error.keyword !== 'if' && !isInsideOneOf(error))
    const hint = `validate it against jsonschema/${name}.json`
    const told = violations.slice(0, 20)
    throw new RejectedEntry(told.map(error => ({ severity: 'error', code: 'SCHEMA', message: describe(error), hint, field: fieldOf(error) })))
  }
}

function isInsideOneOf (error: ErrorObject): boolean {
  return error.schemaPath.includes('/oneOf/')
}

/** Lists the names that are there: one of them is perhaps the missing name misspelt. */
function describeMembers (value: Json): string {
  const names = (isObject(value) ? Object.keys(value) : []).slice(0, 5).map(name => `"${beginningOf(name, 40)}"`)
  return names.length === 0 ? '' : `, and it has ${names.join(', ')}`
}

function describe (error: ErrorObject): string {
  const where = error.instancePath === '' ? 'the value' : error.instancePath.slice(1).replaceAll('/', '.')
  const comment: unknown = error.parentSchema?.['$comment']
  if (typeof comment === 'string') return `${where}: ${comment}${describeMembers(error.data as Json)}`
  return `${where} ${describeFault(error)}`
}

/** For a missing member, the path of the object that lacks it. */
function fieldOf ({ instancePath, keyword, params }: ErrorObject): JsonPath {
  const names = instancePath.split('/').slice(1).map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keyword === 'additionalProperties' ? [...names, String(params['additionalProperty'])] : names
}

function describeFault ({ keyword, params, data, message = 'is invalid' }: ErrorObject): string {
  switch (keyword) {
    case 'type': return `must be ${[params['type'] as string | string[]].flat().map(describeType).join(' or ')}, not ${describeKind(data)}`
    case 'enum': {
      const given = typeof data === 'string' ? `"${beginningOf(data, 40)}"` : describeKind(data)
      return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}, not ${given}`
    }
    case 'required': return `needs "${String(params['missingProperty'])}"${describeMembers(data as Json)}`
    case 'minimum': return `must be at least ${String(params['limit'])}, not ${String(data)}`
    case 'maximum': return `must be at most ${String(params['limit'])}, not ${String(data)}`
    case 'additionalProperties': return `must not have "${beginningOf(String(params['additionalProperty']), 40)}"`
    default: return / NOT have fewer than 1 /.test(message) ? 'must not be empty' : message.replace(' NOT ', ' not ')
  }
}

/** Members or items that are looked at, so that very large values stay cheap. */
const MAX_COMPARED = 100

export interface Fields {
  readonly shape: 'object' | 'list' | 'map'
  readonly names: readonly string[]
  readonly below: ReadonlyMap<string, Fields>
}

/** Warns only near a known field that is absent: other unknown members are perhaps meant for other programs. */
export function lintFields (value: JsonObject, { names: known, below }: Fields, path: JsonPath = []): Diagnostic[] {
  const absent = known.filter(field => !Object.hasOwn(value, field))
  const unknown = Object.keys(value).slice(0, MAX_COMPARED).filter(name => !known.includes(name))
  const own = unknown.flatMap((name): Diagnostic[] => {
    const meant = absent.find(field => isNearly(name, field))
    return meant === undefined
      ? []
      : [{
          severity: 'warning',
          code: 'FIELD_UNKNOWN',
          message: `"${describePath([...path, name])}" is not a field that is looked at: did you mean "${meant}"?`,
          hint: `write "${meant}"`,
          field: [...path, name]
        }]
  })
  const nested = [...below].flatMap(([name, fields]) => objectsIn(value, name, fields).flatMap(([at, object]) => lintFields(object, fields, [...path, ...at])))
  return [...own, ...nested]
}

/** A failure also lists misspelt fields, its most frequent cause. @throws RejectedEntry */
export function checkWithFields (check: () => void, misspelt: () => readonly Diagnostic[]): void {
  try {
    check()
  } catch (error) {
    throw error instanceof RejectedEntry ? new RejectedEntry([...error.diagnostics, ...misspelt()]) : error
  }
}

function objectsIn (value: JsonObject, name: string, { shape }: Fields): Array<readonly [at: JsonPath, object: JsonObject]> {
  if (!Object.hasOwn(value, name)) return []
  const member = value[name] as Json
  if (shape === 'object') return isObject(member) ? [[[name], member as JsonObject]] : []
  return itemsOf(member, shape).flatMap(([at, item]) => isObject(item) ? [[[name, at], item as JsonObject]] : [])
}

function itemsOf (member: Json, shape: 'list' | 'map'): Array<readonly [at: string | number, item: Json]> {
  if (shape === 'map') return isObject(member) ? Object.entries(member as JsonObject).slice(0, MAX_COMPARED) : []
  return Array.isArray(member) ? member.slice(0, MAX_COMPARED).map((item: Json, index) => [index, item]) : []
}

function describePath (path: JsonPath): string {
  return path.map((segment, index) => typeof segment === 'number' ? `[${segment}]` : index === 0 ? segment : `.${segment}`).join('')
}
