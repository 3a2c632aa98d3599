import type { ErrorObject } from 'ajv'
import type { JsonPath } from '../../base/json-places.ts'
import { isJsonObject, type Json, type JsonObject, listOf, objectOf, ownField, segmentsOf } from '../../base/json.ts'
import { type Diagnostic, RejectedEntry } from '../diagnostic.ts'
import { isNearly } from '../../base/near-matches.ts'
import { describeFault, describeMembers, pathIn } from '../../schema/explain.ts'
import { readPublishedSchema } from '../../schema/published.ts'
import { validators } from '../../schema/validators.ts'

interface MemberSchema {
  readonly $id?: string
  readonly properties?: Readonly<Record<string, MemberSchema>>
  readonly items?: MemberSchema
  readonly additionalProperties?: MemberSchema | boolean
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, MemberSchema>>
}

interface EntrySchema {
  violations (value: Json): Diagnostic[]
  /** @param misspelt the most frequent cause of a failure, told with it. @throws RejectedEntry with every violation */
  check (value: Json, misspelt?: () => readonly Diagnostic[]): void
  readonly fields: Fields
}

/** Called once by the file that defines the kind. `name`: a file in `jsonschema/`, `part`: a definition in it. */
export function entrySchema (name: string, part?: string): EntrySchema {
  const schema = readPublishedSchema<MemberSchema>(name)
  const meant = part === undefined ? schema : schema.$defs?.[part]
  const fields = fieldsOf(meant, schema.$defs)
  return {
    violations: value => violationsOf(name, value),
    check (value, misspelt = () => lintFields(value, fields)) {
      const violations = violationsOf(name, value)
      if (violations.length > 0) throw new RejectedEntry([...violations, ...misspelt()])
    },
    fields
  }
}

function fieldsOf (schema: MemberSchema | undefined, definitions: MemberSchema['$defs'] = {}): Fields {
  const meant = definitions[schema?.$ref?.replace('#/$defs/', '') ?? ''] ?? schema
  const shape = meant?.properties !== undefined ? 'object' : meant?.items !== undefined ? 'list' : 'map'
  const each = { object: meant, list: meant?.items, map: typeof meant?.additionalProperties === 'object' ? meant.additionalProperties : undefined }[shape]
  const properties = Object.entries(each?.properties ?? {})
  const below = properties.map(([name, property]) => [name, fieldsOf(property, definitions)] as const)
  return { shape, names: properties.map(([name]) => name), below: new Map(below.filter(([, { names }]) => names.length > 0)) }
}

function violationsOf (name: string, value: Json): Diagnostic[] {
  if (!Object.hasOwn(validators, name)) throw new Error(`no checker of ${name} entries`)
  const validate = validators[name as keyof typeof validators]()
  if (validate(value) === true) return []
  // The errors inside say what is wrong; the one of the `if` itself adds nothing.
  const told = (validate.errors ?? []).filter(error => error.keyword !== 'if' && !isInsideOneOf(error)).slice(0, 20)
  const hint = `validate it against jsonschema/${name}.json`
  return told.map(error => ({ severity: 'error', code: 'SCHEMA', message: describe(error), hint, field: fieldOf(error) }))
}

function isInsideOneOf (error: ErrorObject): boolean {
  return error.schemaPath.includes('/oneOf/')
}

function describe (error: ErrorObject): string {
  const where = error.instancePath === '' ? 'the value' : pathIn(error.instancePath)
  const comment: unknown = error.parentSchema?.['$comment']
  return typeof comment === 'string' ? `${where}: ${comment}${describeMembers(error.data as Json)}` : `${where} ${describeFault([error])}`
}

/** For a missing member, the path of the object that lacks it. */
function fieldOf ({ instancePath, keyword, params }: ErrorObject): JsonPath {
  return [...segmentsOf(instancePath), ...keyword === 'additionalProperties' ? [String(params['additionalProperty'])] : []]
}

/** Members or items that are looked at, so that very large values stay cheap. */
const MAX_COMPARED = 100

export interface Fields {
  readonly shape: 'object' | 'list' | 'map'
  readonly names: readonly string[]
  readonly below: ReadonlyMap<string, Fields>
}

/** Warns only near a known field that is absent: other unknown members are perhaps meant for other programs. */
export function lintFields (value: Json, { names: known, below }: Fields, path: JsonPath = []): Diagnostic[] {
  if (!isJsonObject(value)) return []
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
  const nested = [...below].flatMap(([name, fields]) => partsOf(value, name, fields).flatMap(([at, part]) => lintFields(part, fields, [...path, ...at])))
  return [...own, ...nested]
}

function partsOf (value: JsonObject, name: string, { shape }: Fields): Array<readonly [at: JsonPath, part: Json]> {
  const member = ownField(value, name)
  if (shape === 'object') return [[[name], member ?? null]]
  const items: Array<[string | number, Json]> = shape === 'map' ? Object.entries(objectOf(member)) : [...listOf(member).entries()]
  return items.slice(0, MAX_COMPARED).map(([at, item]) => [[name, at], item])
}

function describePath (path: JsonPath): string {
  return path.map((segment, index) => typeof segment === 'number' ? `[${segment}]` : index === 0 ? segment : `.${segment}`).join('')
}
