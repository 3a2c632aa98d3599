import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { RegExpEngine } from 'ajv/dist/types/index.js'
import { RE2JS, RE2JSSyntaxException } from 're2js'
import type { Violation } from '../../base/errors.ts'
import { isDeeper, type Json, stringifyJson } from '../../base/json.ts'
import { readPublishedSchema } from '../../base/published-schema.ts'
import { isObject } from '../../template/value.ts'
import { exactly, installVocabulary, replaceUniqueItems, toNumbers, WorkError, WorkMeter } from './schema-vocabulary.ts'
import { toLinearPattern } from './ecma-pattern.ts'
import { validators as draft07 } from './metaschema-07.ts'
import { validators as draft2020 } from './metaschema-2020.ts'

/** In UTF-16 units. */
const MAX_PATTERN = 500

/** All expressions of a schema together; compiling takes about 1 µs for each state. */
const MAX_STATES = 20_000

/** Added for each `\p{…}` (it has hundreds of ranges) and each character: both take time to compile. */
const PROPERTY_STATES = 150
const CHARACTER_STATES = 0.1

/** RE2 runs patterns in time linear to the text. Look-around and back references are refused when the schema is compiled. */
export function createPatternEngine (meter: WorkMeter): RegExpEngine {
  let states = 0
  const charge = (more: number) => {
    states += more
    if (states > MAX_STATES) throw new Error(`its patterns need more than ${MAX_STATES} states`)
  }
  const compile = (pattern: string) => {
    if (pattern.length > MAX_PATTERN) throw new Error(`a pattern is longer than ${MAX_PATTERN} characters`)
    const linear = withPattern(pattern, () => toLinearPattern(pattern))
    charge(linear.length * CHARACTER_STATES + (linear.split(/\\[pP]/).length - 1) * PROPERTY_STATES)
    const automaton = withPattern(pattern, () => RE2JS.compile(linear))
    const size = automaton.programSize()
    charge(size)
    return {
      test (text: string): boolean {
        meter.tryPattern(text.length, size)
        return automaton.test(text)
      },
      // ajv recognises equal patterns by this text.
      toString: () => pattern
    }
  }
  return Object.assign(compile as unknown as RegExpEngine, { code: 'new RegExp' })
}

function withPattern<T> (pattern: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    // RE2's whole message would quote the translated pattern, which the author does not know.
    const reason = error instanceof RE2JSSyntaxException ? error.getDescription() : (error as Error).message
    throw new Error(`pattern "${pattern}" is not supported: ${reason}`)
  }
}

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
  const isValid = build(checked, meter, false)
  return { validate: validator(checked, meter, () => isValid) }
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
  const checked = checkSchema(schema)
  const meter = new WorkMeter()
  let isValid: ValidateFunction | undefined
  return { validate: validator(checked, meter, () => (isValid ??= build(checked, meter, false))) }
}

interface CheckedSchema {
  readonly plain: object | boolean
  readonly dialect: Dialect
  readonly size: number
}

function checkSchema (schema: Json): CheckedSchema {
  if (typeof schema !== 'boolean' && !isObject(schema)) throw new SchemaError('a schema is an object or a boolean')
  const plain = toNumbers(schema) as object | boolean
  // ajv would return a promise, which counts as true here and crashes the process when it is rejected.
  if (typeof plain === 'object' && Object.hasOwn(plain, '$async')) throw new SchemaError('$async is not supported')
  const size = checkSize(plain)
  const dialect = chooseDialect(plain)
  checkAgainstMetaschema(plain, dialect)
  return { plain, dialect, size }
}

function validator (checked: CheckedSchema, meter: WorkMeter, checker: () => ValidateFunction): CompiledSchema['validate'] {
  let explain: ValidateFunction | undefined
  return (value, root = 'value') => {
    const { instance, place } = placed(value)
    try {
      const isValid = checker()
      meter.reset()
      if (isValid(instance, place)) return []
      meter.reset()
      explain ??= build(checked, meter, true)
      const check = hasMoreMembers(instance, MAX_PAIRS_TOLD / checked.size) ? isValid : explain
      check(instance, place)
      return (check.errors as ErrorObject[]).slice(0, MAX_VIOLATIONS).map(error => toViolation(error, root))
    } catch (error) {
      if (error instanceof SchemaError) return [{ path: root, message: `cannot be checked: ${error.message}` }]
      // A reference that leads to itself overflows the stack.
      return [{ path: root, message: error instanceof WorkError ? error.message : 'cannot be checked: its schema never ends' }]
    }
  }
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

const metaschemas = new Map<Dialect, InstanceType<Dialect>>()

/** All schemas share one ajv here, because it reads them only as data, and remembers nothing of them. */
function checkAgainstMetaschema (schema: object | boolean, Dialect: Dialect): void {
  // The generated validators know no big integers, so at most they refuse too much; the check below decides.
  if ((Dialect === Ajv ? draft07 : draft2020).metaschema()(schema) === true) return
  let ajv = metaschemas.get(Dialect)
  if (ajv === undefined) {
    metaschemas.set(Dialect, ajv = new Dialect({ strict: false, logger: false, validateFormats: false }))
    replaceUniqueItems(ajv)
  }
  const id = Dialect === Ajv ? 'http://json-schema.org/draft-07/schema' : 'https://json-schema.org/draft/2020-12/schema'
  if (ajv.validate(id, schema)) return
  const { path, message } = toViolation(ajv.errors?.[0] as ErrorObject, 'schema')
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

function toViolation (error: ErrorObject, root: string): Violation {
  const path = root + error.instancePath.split('/').slice(1).map(segment => member(segment.replaceAll('~1', '/').replaceAll('~0', '~'))).join('')
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return { path: path + member(String(params['missingProperty'])), message: 'is required' }
    case 'additionalProperties':
      return { path: path + member(String(params['additionalProperty'])), message: 'is not expected' }
    case 'unevaluatedProperties':
      return { path: path + member(String(params['unevaluatedProperty'])), message: 'is not expected' }
    case 'enum':
      return { path, message: `must be one of ${stringifyJson(exactly(params['allowedValues'] as Json)).slice(1, -1)}` }
    case 'type':
      return { path, message: `must be ${[params['type'] as string | string[]].flat().join(' or ')}` }
    case 'false schema':
      return { path, message: 'is not allowed' }
    default:
      return { path, message: error.message ?? `fails "${error.keyword}"` }
  }
}

function member (name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`
  return /^[\p{L}_$][\p{L}\p{Nd}_$-]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}
