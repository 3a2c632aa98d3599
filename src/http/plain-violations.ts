import { type ErrorObject } from 'ajv'
import { requestInvalid, type ServiceError } from '../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { describeKind, describeType } from '../base/text.ts'
import { Effort, likelyMatches } from '../registry/near-matches.ts'

const PARTS: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

/** In characters. */
const MAX_SHOWN = 40

/** @param errors what ajv reports of the part: at least one, each with the wrong value as `data` */
export function violationOf (part: string, errors: readonly ErrorObject[]): ServiceError {
  // A union gives errors of itself and of each variant; the client probably meant the one with the deepest error.
  const place = errors.map(({ instancePath }) => instancePath).reduce((deepest, path) => path.length > deepest.length ? path : deepest)
  const found = errors.filter(({ instancePath, keyword }) => instancePath === place && keyword !== 'anyOf')
  const path = place.slice(1).replaceAll('/', '.')
  // A misspelt name is also a missing one, and says more.
  const message = found.map(strangerIn).find(each => each !== undefined) ?? describe(found, part)
  const where = PARTS[part] ?? part
  return requestInvalid(path === '' ? `${where} ${message}` : `${where}: ${path} ${message}`, { part: where, violations: [{ path, message }] })
}

function strangerIn ({ parentSchema: { properties, additionalProperties } = {}, data }: ErrorObject): string | undefined {
  if (additionalProperties !== false || !isJsonObject(data as Json)) return undefined
  const known = Object.keys(properties as object)
  const name = Object.keys(data as JsonObject).find(each => !known.includes(each))
  if (name === undefined) return undefined
  const [near] = likelyMatches(name, known, new Effort())
  const instead = near === undefined ? `it takes ${known.map(each => JSON.stringify(each)).join(', ') || 'none'}` : `did you mean ${JSON.stringify(near)}?`
  return `must not have ${JSON.stringify(name.slice(0, MAX_SHOWN))}: ${instead}`
}

function describe (found: readonly ErrorObject[], part: string): string {
  const [first] = found as [ErrorObject]
  const { keyword, params, message = 'is invalid', data } = found.find(error => expectation(error) === undefined) ?? first
  const alternatives = found.find(error => error.keyword === 'oneOf')?.schema as ReadonlyArray<{ readonly required: readonly [string] }> | undefined
  if (alternatives !== undefined) return `needs exactly one of ${alternatives.map(({ required: [name] }) => JSON.stringify(name)).join(', ')}`
  if (keyword === 'not') {
    const { required } = found.find(error => error.keyword === 'not')?.schema as { readonly required: readonly string[] }
    return `must not have both ${required.map(name => JSON.stringify(name)).join(' and ')}`
  }
  if (keyword === 'dependentRequired') return `has ${JSON.stringify(params['property'])}, which needs ${JSON.stringify(params['missingProperty'])}`
  if (keyword === 'required') return `needs ${JSON.stringify(params['missingProperty'])}`
  const expected = found.flatMap(error => expectation(error) ?? [])
  if (expected.length === found.length) {
    return `must be ${expected.join(' or ')}, not ${quoteValue(data, keyword === 'const' || keyword === 'enum' || part !== 'body')}`
  }
  if (/ NOT have fewer than 1 /.test(message)) return 'must not be empty'
  return `${message.replace(' NOT ', ' not ')}${keyword === 'minimum' || keyword === 'maximum' ? `, not ${String(data)}` : ''}`
}

/** `undefined` when another keyword of the schema has failed. */
function expectation ({ keyword, params, parentSchema }: ErrorObject): string | undefined {
  if (keyword === 'pattern') return parentSchema?.['title'] as string | undefined
  if (keyword === 'enum') return (params['allowedValues'] as readonly string[]).map(value => JSON.stringify(value)).join(' or ')
  if (keyword === 'const') return JSON.stringify(params['allowedValue'])
  return keyword === 'type' ? describeType(params['type'] as string) : undefined
}

/** @param mayQuote whether a text is quoted: a text in a body may be a secret */
function quoteValue (value: unknown, mayQuote: boolean): string {
  return typeof value === 'string' && mayQuote ? JSON.stringify(value.slice(0, MAX_SHOWN)) : describeKind(value)
}
