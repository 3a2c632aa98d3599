import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { type InjectOptions, type LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import { createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { type App } from '../../../src/http/app.ts'
import { undeclared } from '../../helpers/declared-replies.ts'
import { API, type Operation } from '../../helpers/described-api.ts'
import { assertListed } from '../../helpers/listed-errors.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const operations = Object.entries(API.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ method, path, operation })))
const registrations = { 'templates:a': 'Hello', 'templates:b': '{{x}}', 'environs:m:s': '1' }

const started = shared(suite => startService(suite, registrations))

describe('openapi.json', () => {
  it('says of every reply what it means', () => {
    const silent = operations.flatMap(({ operation }) => Object.entries(operation.responses).filter(([, { description }]) => description === 'Default Response').map(([status]) => `${operation.operationId} ${status}`))
    assert.deepEqual(silent, [])
  })

  it('declares streams of events by their media type, and turns as JSON too', () => {
    const typesOf = (id: string, status: string): string[] => Object.keys(operations.find(({ operation }) => operation.operationId === id)?.operation.responses[status]?.content ?? {})
    assert.deepEqual(typesOf('followSession', '200'), ['text/event-stream'])
    for (const [id, status] of [['startAgent', '201'], ['talkToAgent', '200'], ['sendInput', '200']] as const) assert.deepEqual(typesOf(id, status), ['application/json', 'text/event-stream'], id)
  })

  it('says what is otherwise without tokens', () => {
    for (const word of ['AUTH=off', 'WRITE_NOT_LOCAL', 'HOST_NOT_ALLOWED', 'ORIGIN_FOREIGN']) assert.ok(API.info.description.includes(word), word)
  })

  it('lets clients leave out bodies that may be left out', () => {
    const needed = operations.filter(({ operation }) => operation.requestBody?.required === true).map(({ operation }) => operation.operationId)
    assert.deepEqual(needed, ['putExtension', 'putPrompt', 'putEnviron', 'putTool', 'lint', 'previewPrompt', 'putPromptTests', 'runPromptTest', 'putAgent', 'putSkill', 'startPlan', 'putPlan', 'putPromptLabel', 'createChatCompletion', 'createResponse', 'createEmbeddings', 'talkToAgent', 'startSkill', 'answerSkill', 'sendCommandResult', 'approveCommand', 'sendInput', 'decideApproval', 'talkToPlan', 'confirmPlan', 'openTerminal', 'changeUserMemory', 'changeProjectMemory'])
  })

  it('declares what every call may answer to a head that cannot be served', async () => {
    const { app } = await started()
    for (const { method, path } of operations) {
      for (const [headers, status] of [[{ 'content-encoding': 'gzip' }, 415], [{ expect: 'wonders' }, 417]] as const) {
        const reply = await app.inject({ method: method.toUpperCase() as 'GET', url: path.replace(/{id}/, 'a').replace(/{n}|{\w+}/, '1'), headers })
        assert.equal(reply.statusCode, status)
        assert.equal(undeclared(method, path, reply), undefined)
      }
    }
  })

  it('declares what every call may answer to a head that comes too slowly, is too large, or has too long an id', () => {
    for (const { path, operation: { operationId, responses } } of operations) {
      for (const status of ['408', '431']) {
        const schema = responses[status]?.content?.['application/json']?.schema
        assert.equal((schema?.anyOf?.[0] ?? schema)?.$ref, '#/components/schemas/Error', `${operationId} ${status}`)
      }
      assert.equal(responses['414'] !== undefined, path.includes('{'), operationId)
    }
  })

  it('offers the values of what is one of several', () => {
    const choices = operations.flatMap(({ operation: { operationId, parameters = [] } }) => parameters.filter(({ schema }) => schema.enum !== undefined).map(({ name, schema }) => [operationId, name, schema.type, schema.enum]))
    assert.deepEqual(choices.filter(([id]) => !String(id).endsWith('Alias')), [['renderPrompt', 'tools', 'string', ['live', 'record', 'stub']], ['chatWithPrompt', 'tools', 'string', ['live']], ['listSessions', 'status', 'string', ['running', 'waiting_input', 'waiting_approval', 'completed', 'failed', 'cancelled', 'expired', 'waiting', 'open', 'ended']], ['listSessions', 'kind', 'string', ['agents', 'skills', 'plans', 'terminals', 'releases']], ['previewPlan', 'side', 'string', ['before', 'after', 'diff']]])
    assert.deepEqual(operations.flatMap(({ operation: { parameters = [] } }) => parameters.filter(({ schema }) => schema.anyOf !== undefined)), [])
  })

  it('says what a plan tells, who sees its preview, and that a session that writes files is not ended', () => {
    const { '/api/plans': plans, '/api/plans/{id}/preview': preview, '/api/sessions/{id}/cancel': cancel, '/api/skills/{id}': skill } = API.paths as unknown as Record<string, Record<string, { readonly description: string, readonly security: unknown, readonly responses: object }>>
    for (const word of ['`files`', '`preview`', '`applied`', '`undone`', '`redone`', '`memory`']) assert.ok(plans?.['post']?.description.includes(word), word)
    assert.deepEqual(preview?.['get']?.security, [{ token: ['run'] }, { token: ['approve'] }])
    for (const operation of [cancel?.['post'], skill?.['delete']]) assert.ok(Object.hasOwn(operation?.responses ?? {}, '409'))
  })

  it('has the other paths of calls in a section of their own', () => {
    const others = operations.filter(({ operation }) => operation.tags?.includes('Other paths')).map(({ path }) => path)
    assert.deepEqual(others, ['/api/prompts/{id}/render', '/api/prompts/{id}/chat'])
  })

  it('declares the headers of replies', async t => {
    const { app } = await startService(t, registrations, { LLM_BASE_URL: 'builtin:echo', API_TOKENS: tokenEntry('one', 'admin:requests=9') })
    const calls: ReadonlyArray<readonly [method: 'GET' | 'POST' | 'PUT', path: string, id: string, headers: readonly string[], payload?: string | undefined, token?: string]> = [
      ['GET', '/api/prompts', '?limit=1', ['link']],
      ['GET', '/api/prompts/{id}', 'a', ['etag', 'x-prompt-revision']],
      ['GET', '/api/environs/{id}', 'm.s', ['etag']],
      ['PUT', '/api/environs/{id}', 'm.t', ['etag'], '2'],
      ['POST', '/api/render/prompts/{id}', 'a', ['x-prompt-revision']],
      ['POST', '/v1/chat/completions', '', ['x-prompt-revision'], '{"model":"prompt:a"}'],
      ['GET', '/api/tools', '', ['www-authenticate'], undefined, 'none'],
      ...Array.from({ length: 3 }, () => ['GET', '/api/tools', '', []] as const),
      ['GET', '/api/tools', '', ['retry-after', 'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests']]
    ]
    for (const [method, path, id, headers, payload, token = 'one'] of calls) {
      const url = path.includes('{id}') ? path.replace('{id}', id) : `${path}${id}`
      const reply = await app.inject({ method, url, headers: { ...bearer(token), ...(payload === undefined ? {} : { 'content-type': 'application/json' }) }, ...(payload === undefined ? {} : { payload }) })
      const declared = API.paths[path]?.[method.toLowerCase()]?.responses[String(reply.statusCode)]?.headers ?? {}
      for (const name of ['x-request-id', ...headers]) {
        assert.ok(Object.hasOwn(reply.headers, name), `${url} ${reply.statusCode} sends ${name}`)
        assert.ok(Object.hasOwn(declared, name), `${url} ${reply.statusCode} declares ${name}`)
      }
    }
  })
})

describe('the errors that routes list', () => {
  it('have an example each: the document cannot be made without', async () => {
    const { app } = await started()
    assert.equal((await app.inject('/openapi.json')).statusCode, 200)
  })

  it('keep an error that is not listed from a test', async () => {
    const { app } = await started()
    assert.throws(() => { assertListed({ method: 'GET', url: '/api/prompts/a' }, { statusCode: 404, headers: { 'content-type': 'application/json' }, json: () => ({ code: 'TOOL_NOT_FOUND' }) } as unknown as LightMyRequestResponse) }, /getPrompt answers with TOOL_NOT_FOUND/)
    assert.equal((await app.inject('/api/prompts/gone')).statusCode, 404)
  })
})

describe('the examples of errors', () => {
  const ERRORS = API.components.examples
  const withoutId = (error: object) => ({ ...error, requestId: '' })

  it('are there for every status that is an error of the service, and are as the schema says', () => {
    for (const { method, path, operation } of operations) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const json = content?.['application/json']
        if (!/^[45]\d\d$/.test(status) || json === undefined || operation.operationId === 'getReadiness') continue
        const examples = Object.values(json.examples ?? {})
        assert.ok(examples.length > 0, `${operation.operationId} ${status}`)
        for (const { $ref } of examples) {
          const { value } = ERRORS[$ref.slice($ref.lastIndexOf('/') + 1)] as { value: { statusCode?: number } }
          const reply = { statusCode: Number(status), headers: { 'content-type': 'application/json' }, json: () => value } as unknown as LightMyRequestResponse
          assert.equal(undeclared(method, path, reply), undefined)
          assert.equal(value.statusCode ?? Number(status), Number(status))
        }
      }
    }
  })

  const hello = { method: 'PUT', url: '/api/prompts/trial.hello', headers: { 'content-type': 'text/plain' }, payload: 'Say hello to {{variables.name}}.' } as const
  const cases: ReadonlyArray<readonly [name: string, call: InjectOptions, tokens?: string]> = [
    ['PROMPT_NOT_FOUND', { url: '/api/prompts/greeet' }],
    ['PROMPT_NOT_FOUND_OPENAI', { method: 'POST', url: '/v1/chat/completions', payload: { model: 'prompt:greeet' } }],
    ['DEFINITION_NOT_FOUND_SKILL', { method: 'POST', url: '/api/skills/start', payload: { terminalSessionId: 'manual', skillId: 'git-quick-comit' } }],
    ['TARGETS_NOT_OFFERED_SKILL', { method: 'POST', url: '/api/skills/start', payload: { terminalSessionId: 'web', skillId: 'git-quick-commit' } }],
    ['EXTENSION_NOT_FOUND', { url: '/api/extensions/evaluater' }],
    ['ENVIRON_NOT_FOUND', { url: '/api/environs/vscode.rule' }],
    ['TOOL_NOT_FOUND', { url: '/api/tools/owners.fnd' }],
    ['ENTRY_NOT_FOUND', { method: 'DELETE', url: '/api/prompts/trial.gone' }],
    ['ENTRY_CHANGED', { ...hello, headers: { ...hello.headers, 'if-match': '"other"' } }],
    ['VARIABLE_MISSING', { method: 'POST', url: '/api/render/prompts/trial.hello' }],
    ['ENCODING_UNSUPPORTED', { url: '/api/prompts', headers: { 'content-encoding': 'gzip' } }],
    ['EXPECTATION_UNKNOWN_OPENAI', { url: '/v1/models', headers: { expect: 'wonders' } }],
    ['MEDIA_TYPE_UNSUPPORTED', { method: 'POST', url: '/api/lint', headers: { 'content-type': 'application/xml' }, payload: 'x' }],
    ['BODY_TOO_LARGE', { method: 'POST', url: '/api/lint', headers: { 'content-type': 'application/json' }, payload: 'x'.repeat(1024 * 1024 + 1) }],
    ['URL_TOO_LONG', { url: `/api/prompts/${'a'.repeat(600)}` }],
    ['HOST_NOT_ALLOWED', { url: '/healthz', headers: { host: 'prompts.example.com' } }],
    ['TOKEN_REQUIRED', { url: '/api/prompts' }, tokenEntry('ide', 'read')],
    ['TOKEN_UNKNOWN_OPENAI', { url: '/v1/models', headers: bearer('other') }, tokenEntry('ide', 'read')],
    ['ROLE_MISSING', { method: 'POST', url: '/api/status/reload', headers: bearer('ide') }, tokenEntry('ide', 'read+render')]
  ]
  it('are what the service answers', async t => {
    const folder = await createTemporaryFolder()
    t.after(() => folder.remove())
    await cp('examples', folder.path, { recursive: true })
    const apps = new Map<string, App>()
    const appOf = async (tokens: string): Promise<App> => {
      const app = apps.get(tokens) ?? await createApp(loadConfig({ STORE_DIR: folder.path, SESSION_STORE: 'memory', LLM_BASE_URL: 'builtin:echo', API_TOKENS: tokens }), pino({ level: 'silent' }))
      if (!apps.has(tokens)) t.after(() => app.close())
      apps.set(tokens, app)
      return app
    }
    await (await appOf('')).inject(hello)
    for (const [name, call, tokens = ''] of cases) {
      const answer = (await (await appOf(tokens)).inject(call)).json<object>()
      const example = structuredClone(ERRORS[name]?.value) as { message?: string, details?: { current?: string } }
      // The tag of what is stored, which is not the example's.
      const current = (answer as typeof example).details?.current
      if (name === 'ENTRY_CHANGED') Object.assign(example, JSON.parse(JSON.stringify(example).replaceAll(String(example.details?.current), String(current))))
      assert.deepEqual(withoutId(answer), withoutId(example), name)
    }
  })
})

/** What cannot succeed with the echo model, which has neither embeddings nor names. */
const NEEDS_A_MODEL: ReadonlySet<string> = new Set(['createEmbeddings', 'getModel'])

const ORDER = ['put', 'get', 'post', 'delete']

/** What cannot succeed while a label means the version, as it does after the calls before. */
const NEEDS_NO_LABEL: ReadonlySet<string> = new Set(['deletePromptVersion'])

/** A stream of what changes goes on as long as somebody reads it. */
const IS_ENDLESS: ReadonlySet<string> = new Set(['followChanges'])

describe('the examples of openapi.json', () => {
  it('work with examples/ as they are', async t => {
    const folder = await createTemporaryFolder()
    await cp('examples', folder.path, { recursive: true })
    const app = await createApp(loadConfig({ STORE_DIR: folder.path, STATE_DIR: `${folder.path}/state`, OPERATOR_FILE: `${folder.path}/operator.yaml`, SESSION_STORE: 'memory', LLM_BASE_URL: 'builtin:echo', RENDER_TIMEOUT_MS: '20000' }), pino({ level: 'silent' }))
    t.after(async () => {
      await app.close()
      await folder.remove()
    })
    for (const { method, path, operation } of operations.toSorted((one, other) => ORDER.indexOf(one.method) - ORDER.indexOf(other.method))) {
      // Sessions have ids that nobody knows before, and the operator of the examples allows no terminal, and tells nobody.
      if ([NEEDS_A_MODEL, NEEDS_NO_LABEL, IS_ENDLESS].some(without => without.has(operation.operationId)) || /\/(?:sessions|approvals|skills|plans|traces)\/\{id\}|^\/api\/(?:terminals|notices\/)/.test(path)) continue
      for (const [type, payload] of bodiesOf(operation)) {
        const reply = await app.inject({ method: method.toUpperCase() as 'POST', url: prefilled(path, operation), ...(payload === undefined ? {} : { headers: { 'content-type': type }, payload }) })
        assert.ok(reply.statusCode < 300, `${operation.operationId} ${reply.statusCode} ${reply.body}`)
      }
    }
  })

  it('put nothing into a header, which would make a call conditional', () => {
    assert.deepEqual(operations.flatMap(({ operation: { parameters = [] } }) => parameters.filter(parameter => parameter.in === 'header' && parameter.example !== undefined)), [])
  })
})

function bodiesOf ({ requestBody }: Operation): ReadonlyArray<readonly [type: string, payload: string | undefined]> {
  if (requestBody === undefined) return [['', undefined]]
  return Object.entries(requestBody.content).map(([type, { example }]) => [type, type === 'text/plain' ? String(example) : JSON.stringify(example)])
}

function prefilled (path: string, { parameters = [] }: Operation): string {
  const query = parameters.filter(parameter => parameter.in === 'query' && parameter.example !== undefined).map(({ name, example = '' }) => [name, example] as const)
  return `${path.replace(/{(\w+)}/g, (_whole, name) => encodeURIComponent(parameters.find(parameter => parameter.name === name)?.example ?? ''))}?${new URLSearchParams(Object.fromEntries(query)).toString()}`
}
