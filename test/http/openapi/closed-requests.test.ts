import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type InjectOptions } from 'fastify'
import { FRAMES } from '../../../src/http/socket/frames.ts'
import { type JsonView, type Service, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { connectSocket } from '../../helpers/socket-client.ts'

/** What internal code trusts, and one name that means nothing anywhere. */
const NAMES = ['unheardOf', 'found', 'recorded', 'by', 'isChild', 'isStrict', 'owner', 'caller', 'generation', 'roles', 'requestId', 'session', 'chosen', 'environment', 'activity', 'at']

/**
 * What is open on purpose, as `operation: place`: what is passed on to a model, values of prompts, skills and tools, and entries, which the
 * registry checks.
 */
const OPEN = [
  'callTool: arguments',
  'changeProjectMemory: ', 'changeUserMemory: ',
  ...['chatWithPrompt', 'chatWithPromptAlias'].flatMap(name => ['', 'variables', 'args', 'messages[]'].map(place => `${name}: ${place}`)),
  ...['', 'messages[]', 'prompt.variables', 'variables'].map(place => `createChatCompletion: ${place}`),
  'createEmbeddings: ',
  ...['', 'input[]', 'tools[]', 'text', 'reasoning', 'prompt.variables', 'variables'].map(place => `createResponse: ${place}`),
  'lint: extension', 'lint: prompt', 'lint: agent', 'lint: skill', 'lint: plan',
  ...['prompt', 'variables', 'messages[]'].map(place => `previewPrompt: ${place}`),
  'putAgent: ', 'putExtension: ', 'putPlan: ', 'putPrompt: ', 'putPromptTests: []', 'putSkill: ', 'putTool: ',
  ...['renderPrompt', 'renderPromptAlias'].flatMap(name => ['variables', 'args', 'messages[]'].map(place => `${name}: ${place}`)),
  'runPromptTest: case',
  'sendInput: action.data',
  'startSkill: params'
]

/** Of a recorded render: what a prompt was rendered with, and what its tools gave. */
const OPEN_IN_BUNDLES = /\b(?:bundle|known)\b/

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: ReadonlyArray<{ readonly required: readonly string[] }>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: object
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: Schema
  readonly minimum?: number
  readonly minItems?: number
  readonly minLength?: number
  readonly pattern?: string
  readonly examples?: readonly unknown[]
}

interface Operation {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<{ readonly in: string, readonly name: string, readonly required?: boolean, readonly schema: Schema, readonly example?: unknown }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema, readonly example?: unknown }>> }
}

interface Call { readonly method: string, readonly url: string, readonly operation: Operation }

/** An object somewhere in the schema of a request. `within` makes a request that has this object there. */
interface Place {
  readonly path: string
  readonly schema: Schema
  readonly within: (value: object) => unknown
}

/** Where a route takes no body, {} is taken all the same. */
const NO_BODY: Place = { path: '', schema: { type: 'object', properties: {}, additionalProperties: false }, within: value => value }

function placesIn (schema: Schema, path = '', within: Place['within'] = value => value): Place[] {
  const own = schema.properties === undefined && schema.type !== 'object' ? [] : [{ path, schema, within }]
  const base = schema.properties === undefined ? {} : sample(schema) as object
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
    placesIn(member, path === '' ? name : `${path}.${name}`, value => within({ ...withoutAlternatives(base, schema, name), [name]: value })))
  const items = schema.items === undefined ? [] : placesIn(schema.items, `${path}[]`, value => within([value] as never))
  return [...own, ...below, ...items, ...(schema.anyOf ?? []).flatMap(each => placesIn(each, path, within))]
}

/** Members of which exactly one may be there make room for the one that is meant. */
function withoutAlternatives (base: object, { oneOf = [] }: Schema, name: string): object {
  const alternatives = oneOf.flatMap(({ required }) => required)
  return alternatives.includes(name) ? Object.fromEntries(Object.entries(base).filter(([other]) => !alternatives.includes(other))) : base
}

/** The least value that a schema takes. */
function sample (schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0] ?? {})
  switch (schema.type) {
    case 'object': {
      const names = [...schema.required ?? [], ...schema.oneOf?.at(-1)?.required ?? []]
      return Object.fromEntries(names.map(name => [name, sample(schema.properties?.[name] ?? {})]))
    }
    case 'array': return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}))
    case 'integer': case 'number': return schema.minimum ?? 1
    case 'boolean': return true
    case 'null': return null
    default: return 'x'
  }
}

async function callsOf ({ app }: Service): Promise<Call[]> {
  const { paths } = (await app.inject('/openapi.json')).json<{ paths: Record<string, Record<string, Operation>> }>()
  return Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => {
    const named = new Map(operation.parameters?.filter(parameter => parameter.in === 'path').map(({ name, example }) => [name, String(example ?? 'x')]))
    return { method: method.toUpperCase(), url: path.replaceAll(/{(\w+)}/g, (_, name: string) => encodeURIComponent(named.get(name) ?? 'x')), operation }
  }))
}

async function start (t: AtEnd): Promise<Service> {
  return await startService(t, { 'templates:greet': 'Hello' }, { LOG_LEVEL: 'silent', LLM_BASE_URL: 'builtin:echo' })
}

/** What is wrong with how a request was answered: it has to be refused, and the name told. */
async function unrefused ({ app }: Service, { method, operation }: Call, url: string, name: string, body?: unknown): Promise<string[]> {
  const sent = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) }
  const { statusCode, body: reply } = await app.inject({ method, url, ...sent } as InjectOptions)
  const isTold = statusCode === 400 && reply.includes('REQUEST_INVALID') && reply.includes(`must not have \\"${name}\\"`)
  return isTold ? [] : [`${operation.operationId} ${url} ${JSON.stringify(body)}: ${statusCode} ${reply.slice(0, 300)}`]
}

const started = shared(start)

describe('A request', () => {
  it('is refused with what its schema does not name, in its body, in each object below it, and in its query', async t => {
    const service = await started()
    const [faults, open, places]: [string[], string[], string[]] = [[], [], []]
    let [bodies, queries] = [0, 0]
    for (const call of await callsOf(service)) {
      const { method, url, operation: { operationId, parameters = [], requestBody } } = call
      const schema = requestBody?.content['application/json']?.schema ?? {}
      const known = parameters.filter(parameter => parameter.in === 'query')
      const needed = known.flatMap(({ name, required, schema }) => required === true ? [`${name}=${String(sample(schema))}&`] : [])
      for (const name of NAMES.slice(0, 4).filter(each => known.every(parameter => parameter.name !== each))) {
        queries++
        faults.push(...await unrefused(service, call, `${url}?${needed.join('')}${name}=1`, name, requestBody === undefined ? undefined : sample(schema)))
      }
      if (method === 'GET') continue
      const objects = requestBody === undefined ? [NO_BODY] : placesIn(schema)
      for (const { path, schema: { properties = {}, additionalProperties, patternProperties, ...object }, within } of objects) {
        const place = `${operationId}: ${path}`
        if (additionalProperties === undefined && patternProperties === undefined) faults.push(`${place} does not say whether it is open`)
        if (additionalProperties !== false) {
          open.push(place)
          continue
        }
        places.push(place)
        const base = sample({ ...object, properties, type: 'object' }) as object
        for (const name of NAMES.filter(each => !Object.hasOwn(properties, each))) {
          bodies++
          faults.push(...await unrefused(service, call, url, name, within({ ...base, [name]: 1 })))
        }
      }
    }
    assert.deepEqual([faults.length, faults.slice(0, 3)], [0, []])
    assert.deepEqual(open.filter(place => !OPEN_IN_BUNDLES.test(place)).sort(), [...OPEN].sort())
    t.diagnostic(`${queries} queries and ${bodies} bodies were refused, in ${places.length} places of ${new Set(places.map(place => place.split(':')[0])).size} calls; ${open.length} places are open`)
  })

  const near: ReadonlyArray<readonly [url: string, body: object, message: string]> = [
    ['/api/skills/start', { terminalSessionId: 'manual', skilId: 'x' }, 'body must not have "skilId": did you mean "skillId"?'],
    ['/api/render/prompts/greet?lable=x', {}, 'query must not have "lable": did you mean "label"?'],
    ['/v1/chat/completions', { prompt: { id: 'greet', vresion: 1 } }, 'body: prompt must not have "vresion": did you mean "version"?'],
    ['/api/prompts/greet/versions', { by: 'eve' }, 'body must not have "by": it takes "note"'],
    ['/api/plans/x/remember', { by: 'eve' }, 'body must not have "by": this call takes none'],
    ['/api/plans/x/message', { text: 'ok', action: null }, 'body must not have "action": it takes "text"'],
    ['/api/plans/x/message', { text: 'ok', action: { name: 'apply' } }, 'body must not have "action": it takes "text"'],
    ['/api/lint', { templat: 'x' }, 'body must not have "templat": did you mean "template"?']
  ]
  for (const [url, body, message] of near) {
    it(`is told: ${message}`, async () => {
      const { status, json } = await (await started()).post(url, body)
      const told = json['message'] ?? (typeof json['error'] === 'string' ? json['error'] : json['error']?.['message'])
      assert.deepEqual([status, told], [400, message])
    })
  }

  it('takes {} or null where it takes no body', async () => {
    const service = await started()
    for (const body of [{}, null]) assert.equal((await service.post('/api/agents/none/sessions', body)).json['code'], 'DEFINITION_NOT_FOUND')
  })
})

describe('A frame', () => {
  it('is refused with what its schema does not name', async t => {
    const service = await started()
    const client = await connectSocket(t, await service.listen())
    const faults: JsonView[] = []
    let count = 0
    for (const [type, schema] of Object.entries(FRAMES)) {
      const { properties = {}, ...object } = schema as Schema
      for (const name of NAMES.filter(each => !Object.hasOwn(properties, each))) {
        count++
        client.send({ ...sample({ ...object, properties }) as object, type, [name]: 1 })
        const frame = await client.next(type.startsWith('skill') ? 'skill_error' : 'error')
        const told = String(frame['message'] ?? frame['error'])
        if (String(frame['code']) !== 'REQUEST_INVALID' || !told.startsWith(`frame must not have "${name}"`)) faults.push(frame)
      }
    }
    assert.deepEqual(faults, [])
    t.diagnostic(`${count} frames of ${Object.keys(FRAMES).length} types were refused`)
  })
})

describe('A call of one of our tools at /mcp', () => {
  it('is refused with what its schema does not name', async t => {
    const { app } = await started()
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    for (const [tool, given] of [['render_prompt', { id: 'greet' }], ['list_prompts', {}]] as const) {
      for (const name of NAMES) {
        const payload = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: { ...given, [name]: 1 } } })
        const { body } = await app.inject({ method: 'POST', url: '/mcp', headers, payload })
        assert.ok(body.includes('"isError":true') && body.includes(`arguments must not have \\"${name}\\"`), body)
      }
    }
    t.diagnostic(`${2 * NAMES.length} calls were refused`)
  })
})
