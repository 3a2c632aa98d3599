import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Violation } from '../base/errors.ts'
import { holdsBigint, isDeeper, isJsonObject, type Json, stringifyJson } from '../base/json.ts'
import { explainRequest, violationIn } from './explain.ts'
import { createPatternEngine } from './pattern.ts'
import { readPublishedSchema } from './published.ts'
import { validators } from './validators.ts'
import { installVocabulary, toNumbers, WorkError, WorkMeter } from './vocabulary.ts'

/** JSON text in UTF-16 units. */
const MAX_SCHEMA = 64 * 1024

/** Each level becomes a level of generated code. */
const MAX_SCHEMA_DEPTH = 40

/** Each becomes code, and V8 takes long, or fails, to compile too much at once. */
const MAX_PARTS = 1000

const MAX_VIOLATIONS = 20

/** Members of the value times those of the schema: above it only the first violation is told, as a list could fill the memory. */
const MAX_PAIRS_TOLD = 200_000

export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

export interface CompiledSchema {
  /** At most 20 violations, none for a valid value. Never throws, and never changes the value. `root` begins the paths. */
  validate (value: Json, root?: string): Violation[]
}

/**
 * Compiles a JSON Schema that a stranger has written: draft 2020-12, or draft-07 when its `$schema` says so. This is the only place that compiles
 * such schemas.
 *
 * The package ajv turns schemas into JavaScript; nothing else in this service does that with texts of strangers. It is acceptable here, because every
 * text of a schema enters the code through ajv's own code builder, which writes it as an escaped literal and cannot write it otherwise. The generated
 * code is as fast as it must be before every render.
 *
 * Everything else that a schema could do is turned off. No `$ref` leaves the document. Every schema has an ajv of its own, so that its `$id` neither
 * clashes with another one nor can be used elsewhere. `$data`, coercion and defaults are off, patterns run in linear time, work is metered, and
 * unknown keywords and formats are ignored.
 * @throws SchemaError
 */
export function compileSchema (schema: Json): CompiledSchema {
  const checked = checkSchema(schema)
  const meter = new WorkMeter()
  return validator(checked, meter, build(checked, meter, false))
}

const published = new Map<string, CompiledSchema>()

/** Compiles one of the schemas in `jsonschema/`, once for the whole process. @param name the name of the schema's file, without the ending */
export function compilePublishedSchema (name: string): CompiledSchema {
  let compiled = published.get(name)
  if (compiled === undefined) published.set(name, compiled = compileSchema(readPublishedSchema<Json>(name)))
  return compiled
}

/** Many schemas are never used. If one cannot be compiled later, every value is reported as unchecked. @throws SchemaError */
export function compileSchemaLater (schema: Json): CompiledSchema {
  return validator(checkSchema(schema), new WorkMeter())
}

interface CheckedSchema {
  readonly plain: object | boolean
  readonly dialect: Dialect
  readonly size: number
}

function checkSchema (schema: Json): CheckedSchema {
  if (typeof schema !== 'boolean' && !isJsonObject(schema)) throw new SchemaError('a schema is an object or a boolean')
  const plain = toNumbers(schema) as object | boolean
  // ajv would return a promise, which counts as true here and crashes the process when it is rejected.
  if (typeof plain === 'object' && Object.hasOwn(plain, '$async')) throw new SchemaError('$async is not supported')
  const size = checkSize(plain)
  const dialect = chooseDialect(plain)
  checkAgainstMetaschema(plain, dialect)
  return { plain, dialect, size }
}

function validator (checked: CheckedSchema, meter: WorkMeter, isValid?: ValidateFunction): CompiledSchema {
  let explain: ValidateFunction | undefined
  const validate: CompiledSchema['validate'] = (value, root = 'value') => {
    const { instance, place } = placed(value)
    try {
      isValid ??= build(checked, meter, false)
      meter.reset()
      if (isValid(instance, place)) return []
      meter.reset()
      explain ??= build(checked, meter, true)
      const check = hasMoreMembers(instance, MAX_PAIRS_TOLD / checked.size) ? isValid : explain
      check(instance, place)
      return (check.errors as ErrorObject[]).slice(0, MAX_VIOLATIONS).map(error => violationIn(error, root))
    } catch (error) {
      if (error instanceof SchemaError) return [{ path: root, message: `cannot be checked: ${error.message}` }]
      // A reference that leads to itself overflows the stack.
      return [{ path: root, message: error instanceof WorkError ? error.message : 'cannot be checked: its schema never ends' }]
    }
  }
  return { validate }
}

/** ajv gives a keyword's check the object around the value, by which the check finds the original integer. */
function placed (value: Json) {
  const parentData = toNumbers({ value }) as { readonly value: Json }
  const instance = parentData.value
  return { instance, place: { instancePath: '', parentData, parentDataProperty: 'value', rootData: instance as object, dynamicAnchors: {} } }
}

type Dialect = typeof Ajv | typeof Ajv2020

function chooseDialect (schema: object | boolean): Dialect {
  const declared: unknown = typeof schema === 'object' && Object.hasOwn(schema, '$schema') ? (schema as { $schema: unknown }).$schema : undefined
  if (declared === undefined) return Ajv2020
  if (typeof declared === 'string' && /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/.test(declared)) return Ajv
  if (typeof declared === 'string' && /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(declared)) return Ajv2020
  throw new SchemaError(`"$schema" ${stringifyJson(declared)} is not supported: use draft 2020-12 or draft-07`)
}

function build ({ plain, dialect: Dialect }: CheckedSchema, meter: WorkMeter, allErrors: boolean): ValidateFunction {
  const ajv = new Dialect({
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false,
    ownProperties: true,
    allErrors,
    // `optimize` can take quadratic time, and `inlineRefs` can make the code much larger.
    inlineRefs: false,
    code: { regExp: createPatternEngine(meter), optimize: false }
  })
  installVocabulary(ajv, meter)
  try {
    return ajv.compile(plain)
  } catch (error) {
    throw new SchemaError((error as Error).message)
  }
}

function checkAgainstMetaschema (schema: object | boolean, dialect: Dialect): void {
  const isValid = (dialect === Ajv ? validators.draft07 : validators.draft2020)()
  if (isValid(schema)) return
  const { path, message } = violationIn(isValid.errors?.[0] as ErrorObject, 'schema')
  throw new SchemaError(`${path} ${message}`)
}

function checkSize (schema: object | boolean): number {
  if (isDeeper(schema, MAX_SCHEMA_DEPTH)) throw new SchemaError(`a schema nests at most ${MAX_SCHEMA_DEPTH} levels`)
  if (JSON.stringify(schema).length > MAX_SCHEMA) throw new SchemaError(`a schema has at most ${MAX_SCHEMA} characters`)
  const parts = count(schema, member => typeof member === 'object' || typeof member === 'boolean')
  if (parts > MAX_PARTS) throw new SchemaError(`a schema has at most ${MAX_PARTS} objects, lists and booleans, not ${parts}`)
  return count(schema, () => true)
}

function count (value: unknown, isCounted: (member: unknown) => boolean): number {
  const own = isCounted(value) ? 1 : 0
  return typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, member) => sum + count(member, isCounted), own) : own
}

function hasMoreMembers (value: unknown, limit: number): boolean {
  let left = limit
  const visit = (each: unknown): boolean => {
    if (typeof each !== 'object' || each === null) return --left < 0
    return --left < 0 || Object.values(each).some(visit)
  }
  return visit(value)
}

const exact = new Ajv2020({ validateSchema: false, strict: false, verbose: true })

const converting = new Ajv2020({ validateSchema: false, strict: false, coerceTypes: true, useDefaults: true, verbose: true })

/**
 * For the service's own schemas of what callers send. Compiled with the first value: all of them would take a tenth of the start.
 * @param part names the value in messages
 * @param isConverting makes numbers of texts, as a query has them, and fills in defaults
 */
export function ownChecker (part: string, schema: object, isConverting = false): (value: unknown) => ReturnType<typeof explainRequest> | undefined {
  let isValid: ValidateFunction | undefined
  return value => {
    isValid ??= (isConverting ? converting : exact).compile(schema)
    // ajv does not know bigint: integers beyond 2^53 are checked as the nearest numbers.
    if (isValid(value) || (holdsBigint(value as Json) && isValid(toNumbers(value as Json)))) return undefined
    return explainRequest(part, isValid.errors as ErrorObject[])
  }
}
