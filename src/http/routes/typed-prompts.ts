import { visibleEnvirons, type VisibleEnvirons } from '../../access/views.ts'
import { contentHash, isJsonObject, type Json, type JsonObject, type MutableObject, ownField, setMember, stringifyJson, textOf } from '../../base/json.ts'
import { Type } from '../../schema/builder.ts'
import { ENGINE_VERSION } from '../../base/version.ts'
import type { Generation, Prompt, PromptRelease, ReleasedVersion } from '../../registry/generation.ts'
import { LazyMap } from '../../registry/lazy-map.ts'
import { heaviest } from '../../registry/link/versions.ts'
import { LATEST } from '../../registry/kinds/release-record.ts'
import { neededNames } from '../../registry/needs/needs-walk.ts'
import type { EnvironNames } from '../../registry/needs/variable-paths.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import type { App } from '../app.ts'
import { entityTag, readPrecondition, rowsOf, selectIds } from '../resource.ts'
import { ErrorReply, ListQuery } from '../schemas.ts'
import { SelectorQuery } from '../prompt-request.ts'

const SCHEMA: ReadonlySet<string> = new Set([
  'items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedItems', 'unevaluatedProperties'
])
const SCHEMAS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

const PLAIN: ReadonlySet<string> = new Set([
  'type', 'enum', 'const', 'title', 'description', 'default', 'examples', 'format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum',
  'multipleOf', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'required', 'dependentRequired', 'minContains', 'maxContains', 'readOnly', 'writeOnly', 'deprecated'
])

/** Without meaning in a draft-07 schema, and so dropped. */
const NEWER: ReadonlySet<string> = new Set([
  'prefixItems', '$defs', 'dependentSchemas', 'unevaluatedItems', 'unevaluatedProperties', 'dependentRequired', 'minContains', 'maxContains', 'deprecated'
])

/** For OpenAPI 3.1; constraints that it cannot express are left out, so the result accepts all that the schema does, or more. */
function portableSchema (schema: JsonObject, place: string): JsonObject {
  const isOld = /draft-0[67]/.test(textOf(schema['$schema']))
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
    // Tools that search a document for references would take a key `$ref` in a value for one.
    if (PLAIN.has(keyword)) return typeof value === 'object' && stringifyJson(value).includes('"$ref"') ? undefined : value
    if (keyword === '$ref') return typeof value === 'string' && leadsToSchema(schema, value) ? place + value.slice(1) : undefined
    if (SCHEMA.has(keyword) && !Array.isArray(value)) return convert(value)
    if (SCHEMAS.has(keyword) && Array.isArray(value)) return (value as readonly Json[]).map(convert)
    if (NAMED.has(keyword) && isJsonObject(value)) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, convert(member)]))
    return undefined
  }
}

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
  return ownField(value, name)
}

/** https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function unescape (segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return ''
  }
}

/** In UTF-16 units; further prompts come in the next document. */
const MAX_LENGTH = 4 * 1024 * 1024

const PART = {
  type: 'object',
  properties: { type: { type: 'string', enum: ['text', 'image_url', 'input_audio', 'file'] } },
  required: ['type']
}

const MESSAGES: JsonObject = {
  type: 'array',
  items: {
    type: 'object',
    properties: { role: { type: 'string' }, content: { anyOf: [{ type: 'string' }, { type: 'array', items: PART }] } },
    required: ['role']
  }
}

const CHAT_FIELDS: JsonObject = {
  model: { type: 'string' },
  messages: MESSAGES,
  stream: { type: 'boolean' },
  temperature: { type: 'number' },
  max_tokens: { type: 'integer' }
}

const SHARED_SCHEMAS = {
  PromptMessages: MESSAGES,
  PromptError: ErrorReply,
  ChatCompletion: completionOf({ type: ['string', 'null'] })
}

/** In slices, between which other requests are served. @param prompts sorted @returns a `count` of at least one, if any were given */
async function describePrompts (prompts: ReadonlyArray<readonly [id: string, prompt: Prompt]>, generation: Generation, environs: EnvironNames) {
  const slices = createSlices()
  const names = new OperationNames()
  const paths: [string, JsonObject][] = []
  const schemas: [string, JsonObject][] = []
  let length = 0
  let count = 0
  for (const [id, prompt] of prompts) {
    if (slices.isDue()) await slices.pause()
    const described = describePrompt(id, prompt, names.nameOf(id), generation, environs)
    length += stringifyJson(described).length
    if (count > 0 && length > MAX_LENGTH) break
    count++
    paths.push(...described.paths)
    schemas.push(...described.schemas)
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Prompts', version: ENGINE_VERSION, description: 'Each prompt as an operation that renders it and one that asks the model with it.' },
    security: [{}, { token: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: { ...SHARED_SCHEMAS, ...Object.fromEntries(schemas) },
      responses: { Failure: { description: 'What is wrong, and where; of a chat it may be what the model\'s API has refused', content: { 'application/json': { schema: {} } } } },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } }
    }
  }
  return { text: stringifyJson(document), count }
}

/** Valid as function names, for code generators; equal names get a number. */
class OperationNames {
  readonly #taken = new Set<string>()

  nameOf (id: string): string {
    const plain = id.replace(/[^A-Za-z0-9]+/g, '_')
    let name = plain
    for (let number = 2; this.#taken.has(name); number++) name = `${plain}_${number}`
    this.#taken.add(name)
    return name
  }
}

function describePrompt (id: string, prompt: Prompt, name: string, generation: Generation, environs: EnvironNames): {
  readonly paths: ReadonlyArray<[string, JsonObject]>
  readonly schemas: ReadonlyArray<[string, JsonObject]>
} {
  const { entry } = prompt
  const variablesName = `variables_${name}`
  const answerName = `answer_${name}`
  const variables = variablesSchema(prompt, generation, environs, `#/components/schemas/${variablesName}`)
  const answer = answerSchema(prompt, `#/components/schemas/${answerName}`)
  const { source, form } = entry.definition
  const description: JsonObject = typeof source['description'] === 'string' ? { description: source['description'] } : {}
  const common = { 'x-prompt-id': id, tags: ['Prompts'], ...description }
  const rendered: JsonObject = form === 'text' ? { type: 'string' } : { $ref: '#/components/schemas/PromptMessages' }
  const completion = answer === undefined
    ? { $ref: '#/components/schemas/ChatCompletion' }
    : completionOf({ type: ['string', 'null'], contentMediaType: 'application/json', contentSchema: { $ref: `#/components/schemas/${answerName}` } })
  const isNeeded = Object.hasOwn(variables, 'required')
  const bodyOf = (properties: JsonObject): JsonObject => ({
    required: isNeeded,
    content: json({
      type: 'object',
      properties: { variables: { $ref: `#/components/schemas/${variablesName}` }, ...properties },
      ...(isNeeded ? { required: ['variables'] } : {})
    })
  })
  const failure = { default: { $ref: '#/components/responses/Failure' } }
  const path = encodeURIComponent(id)
  return {
    schemas: [[variablesName, variables], ...(answer === undefined ? [] : [[answerName, answer] as [string, JsonObject]])],
    paths: [
      [`/api/render/prompts/${path}`, {
        post: {
          ...common,
          operationId: `render_${name}`,
          summary: 'Render it',
          requestBody: bodyOf({ messages: MESSAGES }),
          responses: { 200: { description: 'The text, or the messages', content: json({ type: 'object', properties: { rendered_prompt: rendered, status: { const: 'success' } }, required: ['rendered_prompt', 'status'] }) }, ...failure }
        }
      }],
      [`/api/chat/prompts/${path}`, {
        post: {
          ...common,
          operationId: `chat_${name}`,
          summary: 'Ask the model with it',
          requestBody: bodyOf(CHAT_FIELDS),
          responses: {
            200: {
              description: 'A chat completion; with `stream: true` its pieces as events',
              content: { ...json(completion), 'text/event-stream': { schema: { type: 'string' } } }
            },
            ...failure
          }
        }
      }]
    ]
  }
}

function json (schema: JsonObject): JsonObject {
  return { 'application/json': { schema } }
}

function completionOf (content: JsonObject): JsonObject {
  const message = { type: 'object', properties: { role: { type: 'string' }, content } }
  const choice = { type: 'object', properties: { message, finish_reason: { type: ['string', 'null'] } } }
  return {
    type: 'object',
    properties: { id: { type: 'string' }, model: { type: 'string' }, choices: { type: 'array', items: choice } }
  }
}

/** Undeclared: the names that templates read. Parameters with a default are optional. */
function variablesSchema (prompt: Prompt, { everyPrompt }: Generation, environs: EnvironNames, place: string): JsonObject {
  const { parameters } = prompt.entry
  if (parameters !== undefined) {
    const { required, ...schema } = portableSchema(parameters.schema, place)
    const left = Array.isArray(required) ? (required as readonly Json[]).filter(name => !Object.hasOwn(parameters.defaults, String(name))) : []
    return { ...schema, type: 'object', ...(left.length === 0 ? {} : { required: left }) }
  }
  const names = [...neededNames(collectNeeds(prompt, everyPrompt, environs).variables)]
  const required = names.filter(([, isRequired]) => isRequired).map(([name]) => name)
  return { type: 'object', properties: Object.fromEntries(names.map(([name]) => [name, {}])), ...(required.length === 0 ? {} : { required }) }
}

/** The schema of the JSON answer of a prompt with `structured: true`; `undefined` for prompts whose answers have no schema. */
function answerSchema ({ entry }: Prompt, place: string): JsonObject | undefined {
  const format = entry.chat.answer?.responseFormat['json_schema']
  const schema = ownField(format, 'schema')
  return isJsonObject(schema) ? portableSchema(schema, place) : undefined
}

const { prefix, after } = ListQuery.properties
const { label } = SelectorQuery.properties

const DocumentQuery = Type.Object({ prefix, after, label, limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'Most prompts of one page' }) })

const DocumentReply = Type.Unknown({ description: 'An OpenAPI document' })

export function typedRoutes (app: App, { environs }: { readonly environs: VisibleEnvirons }): void {
  app.get('/api/openapi/prompts.json', {
    config: { role: 'read', headers: ['etag', 'link'] },
    schema: {
      tags: ['Registry'],
      operationId: 'describePrompts',
      summary: 'Describe the prompts as typed calls',
      description: 'An OpenAPI 3.1 document with a render and a chat operation for each prompt that can run, in the types of its own parameters; of a prompt without, the names that its text reads. ' +
        'It changes with what is registered: `If-None-Match` with its ETag is 304 while it does not. With `label` it is of the versions that the label means. Many prompts come page by page, with the next one in the Link header.',
      querystring: DocumentQuery,
      response: { 200: DocumentReply, 304: Type.Null() }
    }
  }, async (request, reply) => {
    const { generation, query, caller } = request
    const prompts = servedUnder(generation, query.label ?? LATEST)
    // An id with a lone surrogate cannot be written in a URL.
    const { prefix, after, limit } = query
    const ids = await selectIds(prompts, { prefix, after, limit }, ({ id, state }) => state === 'valid' && !/\p{Surrogate}/u.test(id))
    const page = ids.slice(0, query.limit).map(id => [id, prompts.get(id) as Prompt] as const)
    const { text, count } = await describePrompts(page, generation, visibleEnvirons(environs, caller))
    rowsOf(request, reply, count, ids, id => id)
    // Not the registry's revision: names of shared variables change the text, and not the revision.
    const tag = contentHash(text)
    reply.header('etag', entityTag(tag))
    const { noneMatches } = readPrecondition(request.headers)
    if (noneMatches === 'any' || noneMatches?.includes(tag) === true) return reply.code(304).send(null)
    return reply.type('application/json; charset=utf-8').send(text)
  })
}

/** Of a label divided among several versions, the one with most of the requests. */
function servedUnder ({ prompts, releases, names }: Generation, label: string): ReadonlyMap<string, Prompt> {
  if (label === LATEST) return prompts
  const served = ({ labels }: PromptRelease) => (heaviest(labels.get(label)) as ReleasedVersion).prompt
  return new LazyMap(releases, served, id => releases.has(id) && heaviest(names.labelled.get(id)?.labels.get(label)) !== undefined)
}
