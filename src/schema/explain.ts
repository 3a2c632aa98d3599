import type { ErrorObject } from 'ajv'
import type { Violation } from '../base/errors.ts'
import { isJsonObject, type Json, segmentsOf, stringifyJson } from '../base/json.ts'
import { Effort, likelyMatches } from '../base/near-matches.ts'
import { beginningOf, describeKind, describeType } from '../base/text.ts'
import { exactly } from './vocabulary.ts'

// What ajv reports, in words: for the authors of schemas and tools (`violationIn`), of entries (`describeFault`), and of requests (`explainRequest`).

/** `root` begins the path. */
export function violationIn ({ instancePath, keyword, params, message }: ErrorObject, root: string): Violation {
  const path = root + segmentsOf(instancePath).map(memberPath).join('')
  switch (keyword) {
    case 'required': return { path: path + memberPath(String(params['missingProperty'])), message: 'is required' }
    case 'additionalProperties': return { path: path + memberPath(String(params['additionalProperty'])), message: 'is not expected' }
    case 'unevaluatedProperties': return { path: path + memberPath(String(params['unevaluatedProperty'])), message: 'is not expected' }
    case 'enum': return { path, message: `must be one of ${stringifyJson(exactly(params['allowedValues'] as Json)).slice(1, -1)}` }
    case 'type': return { path, message: `must be ${[params['type'] as string | string[]].flat().join(' or ')}` }
    case 'uniqueItems': return { path, message: 'must not have equal items' }
    case 'false schema': return { path, message: 'is not allowed' }
    default: return { path, message: message ?? `fails "${keyword}"` }
  }
}

function memberPath (name: string): string {
  if (/^\d+$/.test(name)) return `[${name}]`
  return /^[\p{L}_$][\p{L}\p{Nd}_$-]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

/** The way back from the path of a violation, without its root. */
export function fieldOf ({ path }: Violation): string[] {
  return Array.from(
    path.matchAll(/\.([^.[]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g),
    ([, name, index, quoted]) => name ?? index ?? (JSON.parse(quoted as string) as string)
  )
}

/** In characters. */
const MAX_SHOWN = 40

const PARTS: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

/** `part` names what was sent. @param errors what ajv reports of it: at least one, each with the wrong value as `data` */
export function explainRequest (part: string, errors: readonly ErrorObject[]): Violation & { readonly part: string } {
  // A union gives errors of itself and of each variant; the client probably meant the one with the deepest error.
  const place = errors.map(({ instancePath }) => instancePath).reduce((deepest, path) => path.length > deepest.length ? path : deepest)
  const found = errors.filter(({ instancePath, keyword }) => instancePath === place && keyword !== 'anyOf')
  // A misspelt name is also a missing one, and says more.
  const message = found.map(strangerIn).find(each => each !== undefined) ?? describeFault(found, part)
  return { part: PARTS[part] ?? part, path: pathIn(place), message }
}

function strangerIn ({ parentSchema: { properties, additionalProperties } = {}, data }: ErrorObject): string | undefined {
  if (additionalProperties !== false || !isJsonObject(data as Json)) return undefined
  const known = Object.keys(properties as object)
  const name = Object.keys(data as object).find(each => !known.includes(each))
  if (name === undefined) return undefined
  const [near] = likelyMatches(name, known, new Effort())
  const instead = near === undefined ? `it takes ${known.map(each => JSON.stringify(each)).join(', ') || 'none'}` : `did you mean ${JSON.stringify(near)}?`
  return `must not have ${JSON.stringify(name.slice(0, MAX_SHOWN))}: ${instead}`
}

/** `messages.0.content` */
export function pathIn (instancePath: string): string {
  return instancePath.slice(1).replaceAll('/', '.')
}

/** What is wrong with one value, by all that ajv reports of it. @param part of a request; left out for an entry, whose author reads other words in places */
export function describeFault (found: readonly ErrorObject[], part?: string): string {
  const expected = found.flatMap(error => expectation(error, part) ?? [])
  const { keyword, params, schema, data, message = 'is invalid' } = found.find(error => expectation(error, part) === undefined) ?? found[0] as ErrorObject
  if (expected.length === found.length) return `must be ${expected.join(' or ')}, not ${quoteValue(data, keyword, part)}`
  const alternatives = found.find(error => error.keyword === 'oneOf')?.schema as ReadonlyArray<{ readonly required: readonly [string] }> | undefined
  if (alternatives !== undefined) return `needs exactly one of ${alternatives.map(({ required: [name] }) => JSON.stringify(name)).join(', ')}`
  switch (keyword) {
    case 'required': return `needs "${String(params['missingProperty'])}"${part === undefined ? describeMembers(data as Json) : ''}`
    case 'dependentRequired': return `has ${JSON.stringify(params['property'])}, which needs ${JSON.stringify(params['missingProperty'])}`
    case 'additionalProperties': return `must not have "${beginningOf(String(params['additionalProperty']), MAX_SHOWN)}"`
    case 'not': return `must not have both ${(schema as { readonly required: readonly string[] }).required.map(name => JSON.stringify(name)).join(' and ')}`
    case 'minimum': case 'maximum': {
      const bound = part === undefined ? `must be at ${keyword === 'minimum' ? 'least' : 'most'} ${String(params['limit'])}` : message
      return `${bound}, not ${String(data)}`
    }
    default: return / NOT have fewer than 1 /.test(message) ? 'must not be empty' : message.replace(' NOT ', ' not ')
  }
}

/** Names that are there: one of them is perhaps the missing name misspelt. */
export function describeMembers (value: Json): string {
  const names = (isJsonObject(value) ? Object.keys(value) : []).slice(0, 5).map(name => `"${beginningOf(name, MAX_SHOWN)}"`)
  return names.length === 0 ? '' : `, and it has ${names.join(', ')}`
}

/** `undefined` for a keyword that does not say what the value must be. */
function expectation ({ keyword, params, parentSchema }: ErrorObject, part: string | undefined): string | undefined {
  switch (keyword) {
    case 'type': return [params['type'] as string | string[]].flat().map(describeType).join(' or ')
    case 'enum': {
      const values = params['allowedValues'] as readonly unknown[]
      return part === undefined ? `one of ${values.join(', ')}` : values.map(value => JSON.stringify(value)).join(' or ')
    }
    case 'const': return JSON.stringify(params['allowedValue'])
    case 'pattern': return parentSchema?.['title'] as string | undefined
    default: return undefined
  }
}

/** A text in a body may be a secret, unless it was to be one of a few words. */
function quoteValue (value: unknown, keyword: string, part: string | undefined): string {
  const mayQuote = keyword === 'const' || keyword === 'enum' || (part !== undefined && part !== 'body')
  return typeof value === 'string' && mayQuote ? JSON.stringify(value.slice(0, MAX_SHOWN)) : describeKind(value)
}
