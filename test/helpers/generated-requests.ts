import fc, { type Arbitrary } from 'fast-check'
import { API, type Operation, type Parameter, type Schema } from './described-api.ts'
import { NAUGHTY_STRINGS } from './naughty-strings.ts'

/** A request that was made up, and the operation that it is for. */
export interface GeneratedRequest {
  readonly method: string
  /** As in openapi.json: `/api/prompts/{id}`. */
  readonly path: string
  readonly operation: Operation
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: string | undefined
}

export interface Vocabulary {
  /** Ids to read. */
  readonly ids: readonly string[]
  /** Ids to write and to read. */
  readonly writableIds: readonly string[]
  /** Ids to name below a path: `/api/sessions/`. */
  readonly below: Readonly<Record<string, readonly string[]>>
  /** Operations that are left out. */
  readonly without: ReadonlySet<string>
  /** Models to ask about. */
  readonly models: readonly string[]
  /** Bodies that make sense, by operation. */
  readonly bodies: Readonly<Record<string, readonly unknown[]>>
}

/** These mean other paths, and clients resolve them. */
const NO_SEGMENTS: ReadonlySet<string> = new Set(['', '.', '..'])

const naughty = fc.constantFrom(...NAUGHTY_STRINGS)
/** Any code points; `fc.string` of the unit `binary` would first number all of them. */
const points = fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 10 }).map(each => String.fromCodePoint(...each))
const text = fc.oneof(fc.string({ maxLength: 20 }), points, naughty)
const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), text, fc.constantFrom(null, true, -1, 1e308, [], {}, [[[]]]))

/** Requests of every operation, of each as many: mostly as the schemas want them, often with something wrong in one place. */
export function generatedRequests (vocabulary: Vocabulary, { count, seed }: { readonly count: number, readonly seed: number }): GeneratedRequest[] {
  const operations = Object.entries(API.paths).flatMap(([path, methods]) => Object.entries(methods).filter(([, { operationId }]) => !vocabulary.without.has(operationId)).map(([method, operation]) => requestOf(method.toUpperCase(), path, operation, vocabulary)))
  const rounds = fc.sample(fc.tuple(...operations), { numRuns: Math.ceil(count / operations.length), seed })
  return rounds.flat().slice(0, count)
}

function requestOf (method: string, path: string, operation: Operation, vocabulary: Vocabulary): Arbitrary<GeneratedRequest> {
  const parameters = operation.parameters ?? []
  const isWrite = method === 'PUT' || method === 'DELETE'
  const [, named] = Object.entries(vocabulary.below).find(([prefix]) => path.startsWith(prefix)) ?? []
  const ids = named !== undefined ? named : path.includes('{model}') ? vocabulary.models : isWrite ? vocabulary.writableIds : [...vocabulary.ids, ...vocabulary.writableIds]
  const id = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: text.filter(each => !vocabulary.ids.includes(each.replaceAll(':', '.')) && !NO_SEGMENTS.has(each)) })
  const all = (place: Parameter['in']) => fc.record(
    Object.fromEntries(parameters.filter(parameter => parameter.in === place).map(({ name, schema, example }) => [name, fc.oneof({ weight: 4, arbitrary: example === undefined ? valueOf(schema).map(String) : fc.constant(example) }, { weight: 1, arbitrary: text })])),
    { requiredKeys: [] }
  )
  const of = (place: Parameter['in']) => fc.oneof({ weight: 5, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: all(place) })
  const content = operation.requestBody?.content ?? {}
  const body = content['application/json'] === undefined
    ? method === 'GET' ? fc.constant(undefined) : fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: text })
    : fc.oneof(
      { weight: 4, arbitrary: broken(valueOf(content['application/json'].schema)).map(value => JSON.stringify(value)) },
      { weight: 16, arbitrary: fc.constantFrom(...(vocabulary.bodies[operation.operationId] ?? [{}])).map(value => JSON.stringify(value)) },
      { weight: 1, arbitrary: text },
      { weight: 1, arbitrary: fc.constantFrom(undefined, '', '{', '{"__proto__": {"x": 1}}', '['.repeat(200), '{"a": 1e999}') }
    )
  const type = fc.oneof({ weight: 16, arbitrary: fc.constant('application/json') }, { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/xml', 'application/json; charset=latin1', 'x') })
  const [, ...others] = parameters.filter(parameter => parameter.in === 'path')
  const further = fc.tuple(...others.map(({ schema, example = '' }) => fc.oneof({ weight: 4, arbitrary: fc.constant(String(example)) }, { weight: 1, arbitrary: valueOf(schema).map(String) }, { weight: 1, arbitrary: text.filter(each => !NO_SEGMENTS.has(each)) })))
  return fc.record({ id, further, query: of('query'), headers: of('header'), payload: body, type }).map(({ id, further, query, headers, payload, type }) => ({
    method,
    path,
    operation,
    url: `${inPath(path, [id, ...further])}${queryOf(query)}`,
    headers: { ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, printable(value ?? '')])), ...(payload === undefined ? {} : { 'content-type': type }) },
    payload
  }))
}

function inPath (path: string, values: readonly string[]): string {
  return values.reduce((url, value) => url.replace(/{\w+}/, () => encodeURIComponent(wellFormed(value))), path)
}

/** A value that the schema allows. */
function valueOf (schema: Schema): Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valueOf(API.components.schemas[schema.$ref.replace('#/components/schemas/', '')] ?? {})
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valueOf))
  switch (schema.type) {
    case 'object': return objectOf(schema)
    case 'array': return fc.array(valueOf(schema.items ?? {}), { maxLength: 3 })
    case 'string': if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern), { size: 'small' })
      return fc.oneof(text, fc.string({ minLength: 1, maxLength: 5 })).map(value => value.slice(0, schema.maxLength))
    case 'integer': return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 100_000 })
    case 'number': return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'boolean': return fc.boolean()
    case 'null': return fc.constant(null)
    default: return anything
  }
}

function objectOf ({ properties = {}, required = [], additionalProperties }: Schema): Arbitrary<object> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)])), { requiredKeys: [...required] })
  if (additionalProperties === false) return known
  const more = fc.dictionary(text, anything, { maxKeys: 2 })
  return fc.oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: fc.tuple(known, more).map(([one, other]) => ({ ...other, ...one })) })
}

/** Now and then something else in one place. */
function broken (value: Arbitrary<unknown>): Arbitrary<unknown> {
  const withOther = fc.tuple(value, fc.nat(), anything).map(([given, index, other]) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return other
    const names = Object.keys(given)
    return names.length === 0 ? other : { ...given, [names[index % names.length] as string]: other }
  })
  return fc.oneof({ weight: 3, arbitrary: value }, { weight: 1, arbitrary: withOther })
}

function queryOf (query: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(wellFormed(value ?? ''))}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** URLs cannot carry half surrogate pairs. */
function wellFormed (value: string): string {
  return Buffer.from(value).toString()
}

/** What a header may hold. */
function printable (value: string): string {
  return value.replaceAll(/[^\x20-\x7e]/g, '.').trim()
}
