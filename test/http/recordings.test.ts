import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Bundle, sealBundle } from '../../src/service/recordings.ts'
import { type JsonObject } from '../../src/base/json.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { type Registrations } from '../helpers/registered.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const environs = {
  'environs:vscode:rules': '"readability"',
  'environs:vscode:editor': { tab: 2, mode: 'vi' },
  'environs:vscode:editor:font': '"mono"',
  'environs:codebase:numbers': '[12345678901234567890, -0, 0.1, 1e-7, null]',
  'environs:chat:s1': '["hello"]',
  'environs:chat:s2': '["bye"]'
}

/** Prompts that ask every question there is: values, branches, keys, lengths, what is not there, the clock, tools. */
const prompts = {
  'templates:go': {
    syntax: 'go',
    userPrompt: `{{.vscode.rules}} {{.vscode.editor}} {{len .chat}} {{range $name, $turns := .chat}}{{$name}}={{index $turns 0}};{{end}}
{{index .chat .variables.session}} {{with .vscode.theme}}theme{{else}}plain{{end}} {{.codebase.numbers}} {{date "2006-01-02T15:04:05.000"}}
{{with x_find "Run"}}{{.name}} {{.missing}}{{end}} {{x_fails}} {{x_default}} {{range x_list}}{{.}},{{end}} {{x_big}} {{printf "%v" .variables.number}}`
  },
  'templates:handlebars': {
    syntax: 'handlebars',
    messages: [
      { role: 'system', content: '{{> part}} {{vscode}} {{#each chat}}{{@key}}={{this}};{{/each}} {{lookup chat variables.session}} {{#if vscode.theme}}theme{{else}}plain{{/if}}' },
      { role: 'user', content: '{{codebase.numbers}} {{date "2006-01-02T15:04:05.000"}} {{#with (x_find symbol="Run")}}{{name}} {{missing}}{{/with}} {{x_fails}} {{x_default}} {{#each (x_list)}}{{this}},{{/each}} {{x_big}} {{variables.number}}' }
    ]
  },
  'templates:part': { userPrompt: 'for {{model.name}} {{variables.greeting}}', parameters: [{ name: 'greeting', default: 'hi' }] },
  'environs:model:name': '"m1"'
}

function tools (origin: string) {
  return {
    'tools:x:find': { method: 'GET', url: `${origin}/find`, parameters: [{ name: 'symbol', type: 'string' }] },
    'tools:x:fails': { url: `${origin}/500`, breaker: false },
    'tools:x:default': { url: `${origin}/503`, default: { stands: 'in' }, breaker: false },
    'tools:x:list': { url: `${origin}/list`, default: [] },
    'tools:x:big': { url: `${origin}/big-integer`, default: 0 }
  }
}

async function startRecorder (t: AtEnd, further: Registrations = {}) {
  const server = await startRestfulToolServer(t, {
    '/find': response => response.setHeader('content-type', 'application/json').end('{"name":"Run","at":[1,2]}'),
    '/list': response => response.setHeader('content-type', 'application/json').end('[1, -0, 2.50]')
  })
  return { server, ...await startService(t, { ...environs, ...prompts, ...tools(server.origin), ...further }) }
}

const startedRecorder = shared(suite => startRecorder(suite))
const startedPlain = shared(suite => startService(suite, prompts))

const variables = { session: 's2', number: 7, 'kept as given': { id: 1 } }

describe('a recorded render', () => {
  const startedElsewhere = shared(async suite => await startService(suite, { ...prompts, ...tools((await startedRecorder()).server.origin), 'environs:model:name': '"other"' }))

  for (const id of ['go', 'handlebars']) {
    it(`of ${id} gives the prompt that a live one gives, and a bundle`, async () => {
      const { post } = await startedRecorder()
      const recorded = await post(`/api/render/prompts/${id}?tools=record`, { variables })
      const live = await post(`/api/render/prompts/${id}?tools=live`, { variables })
      assert.equal(recorded.status, 200)
      const timeless = (reply: JsonView) => JSON.stringify(reply['rendered_prompt']).replaceAll(/T\d\d:\d\d:\d\d\.\d{3}/g, '')
      assert.equal(timeless(recorded.json), timeless(live.json))
      assert.deepEqual(Object.keys(recorded.json['bundle'] ?? {}), ['version', 'prompt', 'variables', 'history', 'caller', 'now', 'environs', 'tools', 'hash'])
      assert.equal('bundle' in live.json, false)
    })

    it(`of ${id} is replayed with the same bytes where no tool and no shared variable is left`, async () => {
      const { app, server } = await startedRecorder()
      const recorded = await app.inject({ method: 'POST', url: `/api/render/prompts/${id}?tools=record`, headers: { 'content-type': 'application/json' }, payload: JSON.stringify({ variables }) })
      const [, rendered, bundle] = /^\{"rendered_prompt":(.*),"status":"success","bundle":(.*)\}$/s.exec(recorded.body) ?? []
      assert.ok(rendered !== undefined && bundle !== undefined)
      const called = server.requests.length

      const elsewhere = await startedElsewhere()
      for (const payload of [`{"bundle":${bundle}}`, `{"variables":${JSON.stringify(variables)},"bundle":${bundle}}`]) {
        const replayed = await elsewhere.app.inject({ method: 'POST', url: `/api/prompts/${id}/render`, headers: { 'content-type': 'application/json' }, payload })
        assert.equal(replayed.body, `{"rendered_prompt":${rendered},"status":"success"}`)
      }
      assert.equal(server.requests.length, called)
    })
  }

  it('shows what a replay will show also for numbers that no JSON text keeps as they came', async t => {
    const { post } = await startService(t, { 'environs:x:numbers': '[1e16, 1e300]', 'templates:p': { syntax: 'go', userPrompt: '{{.x.numbers}}' } })
    const { rendered_prompt: rendered, bundle } = (await post('/api/render/prompts/p?tools=record')).json
    assert.equal((await post('/api/render/prompts/p', { bundle })).json['rendered_prompt'], rendered)
  })

  for (const id of ['go', 'handlebars']) {
    it(`shows what a replay will show also for variables of which no JSON text tells all, in ${id}`, async t => {
      const { app } = await startService(t, {
        'templates:go': { syntax: 'go', userPrompt: '{{range .variables.numbers}}{{printf "%v %g" . .}} {{end}}' },
        'templates:handlebars': '{{#each variables.numbers}}{{this}} {{/each}}'
      })
      const render = (query: string, payload: string) => app.inject({ method: 'POST', url: `/api/render/prompts/${id}${query}`, headers: { 'content-type': 'application/json' }, payload })
      const variables = '{"numbers":[-0,1e16,1e300,12345678901234567.5]}'
      const recorded = (await render('?tools=record', `{"variables":${variables}}`)).body
      const [, rendered, bundle] = /^\{"rendered_prompt":(.*),"status":"success","bundle":(.*)\}$/s.exec(recorded) ?? []
      for (const payload of [`{"bundle":${bundle}}`, `{"bundle":${bundle},"variables":${variables}}`]) {
        assert.equal((await render('', payload)).body, `{"rendered_prompt":${rendered},"status":"success"}`)
      }
    })
  }

  it('holds what was asked and answered, and nothing else', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, { ...environs, 'tools:x:y': { url: `${server.origin}/text` }, 'templates:p': '{{vscode.rules}} {{x_y 1}} {{variables.a}}', 'tools:x:z': { url: server.origin } })
    const { json } = await post('/api/render/prompts/p?tools=record', { variables: { a: 1, b: 2 } })
    const { hash, now, prompt, ...bundle } = json['bundle'] as Record<string, JsonView>
    assert.deepEqual(bundle, {
      version: 2,
      variables: { a: 1, b: 2 },
      history: [],
      caller: {},
      environs: [
        { name: 'vscode', isBranch: true },
        { name: 'vscode.rules', exists: true, isBranch: false, value: 'readability', bytes: 13 }
      ],
      tools: [{ tool: 'x.y', arguments: { 'arguments[0]': 1 } }]
    })
    assert.match(String(hash), /^[\w-]{43}$/)
    assert.ok(Math.abs(Date.parse(String(now)) - Date.now()) < 60_000)
    assert.equal(prompt?.['id'], 'p')
  })

  it('holds no secret, also when the tool echoes what it was sent', async t => {
    const server = await startRestfulToolServer(t)
    const secret = 'canary-5f3a91c2'
    process.env['TOOL_SECRET_CANARY'] = secret
    t.after(() => { delete process.env['TOOL_SECRET_CANARY'] })
    const headers = { authorization: 'Bearer ${secret:CANARY}' } // eslint-disable-line no-template-curly-in-string
    const { app } = await startService(t, {
      'tools:x:echo': { url: `${server.origin}/echo`, headers },
      'templates:p': '{{json (x_echo)}}'
    }, { TOOL_SECRETS: 'CANARY=127.0.0.1' })
    const { body } = await app.inject({ method: 'POST', url: '/api/render/prompts/p?tools=record' })
    assert.equal(server.requests[0]?.headers.authorization, `Bearer ${secret}`)
    assert.match(body, /"authorization":"Bearer \[secret\]"/)
    assert.doesNotMatch(body, new RegExp(secret))
  })

  it('ends with RENDER_BUDGET when its bundle would not fit into a request', async t => {
    const { post } = await startService(t, { 'environs:x:large': JSON.stringify('x'.repeat(3000)), 'templates:p': '{{len x.large}}' }, { BODY_LIMIT_BYTES: '2048' })
    assert.equal((await post('/api/render/prompts/p')).status, 200)
    const { status, json } = await post('/api/render/prompts/p?tools=record')
    assert.deepEqual([status, json['code'], json['message']], [503, 'RENDER_BUDGET', 'Rendering needs more than 2048 bytes of bundle'])
  })

  it('ends with RENDER_BUDGET when its bundle would nest too deeply to be read', async t => {
    const { post } = await startService(t, { 'environs:x:deep': '['.repeat(99) + ']'.repeat(99), 'templates:p': '{{len x.deep}}' })
    const { status, json } = await post('/api/render/prompts/p?tools=record')
    assert.deepEqual([status, json['code']], [503, 'RENDER_BUDGET'])
  })

  it('that fails gives its error and no bundle', async t => {
    const { post } = await startService(t, { 'templates:p': '{{variables.a}}' })
    const { json } = await post('/api/render/prompts/p?tools=record')
    assert.deepEqual([json['code'], 'bundle' in json], ['VARIABLE_MISSING', false])
  })
})

describe('a replay', () => {
  // The replies of this service pass JSON.parse here, which would change integers beyond 2^53, and so the hash.
  const startRounding = (t: AtEnd) => startRecorder(t, { 'environs:codebase:numbers': '[1]', 'tools:x:big': { url: 'http://127.0.0.1:1/', default: 0 } })
  const startedRounding = shared(startRounding)

  async function record (service: Awaited<ReturnType<typeof startRounding>>) {
    const { json } = await service.post('/api/render/prompts/go?tools=record', { variables })
    return { ...service, bundle: structuredClone(json['bundle']) as unknown as Record<string, unknown> & { tools: Array<Record<string, unknown>>, environs: Array<Record<string, unknown>> } }
  }

  it('shows templates the caller of the recording, who is the one who replays it or any when that is an admin', async t => {
    const { post } = await startService(t, { 'templates:p': '{{caller.name}} {{caller.roles}}' }, { API_TOKENS: [tokenEntry('ide', 'render'), tokenEntry('boss', 'admin')].join(',') })
    const { rendered_prompt: rendered, bundle } = (await post('/api/render/prompts/p?tools=record', {}, bearer('ide'))).json
    assert.equal(rendered, 'ide ["render"]')
    for (const name of ['ide', 'boss']) assert.equal((await post('/api/render/prompts/p', { bundle }, bearer(name))).json['rendered_prompt'], rendered, name)
  })

  it('shows templates the caller of the recording where there are no tokens', async t => {
    const { post } = await startService(t, { 'templates:p': '{{#if caller.name}}{{caller.name}}{{/if}}' })
    const { hash: _hash, ...content } = (await post('/api/render/prompts/p?tools=record', {})).json['bundle'] as unknown as Bundle
    assert.equal((await post('/api/render/prompts/p', { bundle: sealBundle({ ...content, caller: { name: 'ide' } }, 10_000) })).json['rendered_prompt'], 'ide')
  })

  const claims: readonly JsonObject[] = [{ name: 'billing', roles: ['admin'] }, { name: 'ide', roles: ['admin', 'render'] }, { name: 'billing', roles: ['render'] }, {}]
  const startedForIde = shared(suite => startService(suite, { 'templates:p': '{{#if caller.roles}}a secret for {{caller.name}}{{/if}}' }, { API_TOKENS: tokenEntry('ide', 'render') }))
  for (const claim of claims) {
    it(`refuses a bundle that its maker says is of the caller ${JSON.stringify(claim)}`, async () => {
      const { post } = await startedForIde()
      const { hash: _hash, ...content } = (await post('/api/render/prompts/p?tools=record', {}, bearer('ide'))).json['bundle'] as unknown as Bundle
      const { status, json } = await post('/api/render/prompts/p', { bundle: sealBundle({ ...content, caller: claim }, 10_000) }, bearer('ide'))
      assert.deepEqual([status, json['code']], [400, 'BUNDLE_INVALID'])
      assert.equal(json['message'], `The bundle cannot be used: it was recorded for the caller ${JSON.stringify(claim)}, and this one is {"name":"ide","roles":["render"]}; only the role admin may replay what others have recorded`)
    })
  }

  const tampered: ReadonlyArray<readonly [what: string, change: (bundle: Awaited<ReturnType<typeof record>>['bundle']) => void]> = [
    ['a tool\'s reply', bundle => { Object.assign(bundle.tools[1] ?? {}, { value: 'forged' }) }],
    ['a shared variable', bundle => { Object.assign(bundle.environs.at(-1) ?? {}, { value: 'forged' }) }],
    ['a variable', bundle => { bundle['variables'] = {} }],
    ['the clock', bundle => { bundle['now'] = '2020-01-01T00:00:00.000Z' }],
    ['the revision', bundle => { bundle['prompt'] = { id: 'go', revision: 'x' } }],
    ['a missing call', bundle => { bundle.tools.pop() }],
    ['the hash', bundle => { bundle['hash'] = 'x' }]
  ]
  for (const [what, change] of tampered) {
    it(`refuses a bundle with ${what} changed`, async () => {
      const { post, bundle } = await record(await startedRounding())
      change(bundle)
      const { status, json } = await post('/api/render/prompts/go', { bundle })
      assert.deepEqual([status, json['code']], [400, 'BUNDLE_INVALID'])
    })
  }

  it('refuses the bundle of another prompt', async () => {
    const { post, bundle } = await record(await startedRounding())
    const { status, json } = await post('/api/render/prompts/handlebars', { bundle })
    assert.deepEqual([status, json['code']], [400, 'BUNDLE_INVALID'])
    assert.match(String(json['message']), /recorded from prompt "go", not "handlebars"/)
  })

  it('answers 409 when the prompt has another revision', async t => {
    const { post, store, bundle } = await record(await startRounding(t))
    store.set('shenma:templates:go', JSON.stringify({ ...prompts['templates:go'], userPrompt: `${prompts['templates:go'].userPrompt}!` }))
    await post('/api/status/reload')
    const { status, json } = await post('/api/render/prompts/go', { bundle })
    assert.deepEqual([status, json['code']], [409, 'BUNDLE_STALE'])
    assert.notEqual(json['details']?.['recorded'], json['details']?.['current'])
  })

  it('takes other variables as far as the recording goes', async () => {
    const { post, bundle } = await record(await startedRounding())
    const { json } = await post('/api/render/prompts/go', { bundle, variables: { ...variables, number: 8 } })
    assert.match(String(json['rendered_prompt']), / 8$/)
    const beyond = await post('/api/render/prompts/go', { bundle, variables: { ...variables, session: 's3' } })
    assert.deepEqual([beyond.status, beyond.json['code']], [409, 'BUNDLE_INCOMPLETE'])
    assert.match(String(beyond.json['message']), /does not hold the shared variable "chat\.s3"/)
  })

  it('answers 409 for a call that was not recorded', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, { 'tools:x:y': { url: `${server.origin}/echo`, parameters: [{ name: 'q' }] }, 'templates:p': '{{len (x_y variables.a)}}' })
    const { bundle } = (await post('/api/render/prompts/p?tools=record', { variables: { a: 1 } })).json
    const { status, json } = await post('/api/render/prompts/p', { bundle, variables: { a: 2 } })
    assert.deepEqual([status, json['code'], json['message']], [409, 'BUNDLE_INCOMPLETE', 'The bundle does not hold a call of x_y with {"q":2}: the recorded render did not ask for it'])
    assert.equal(server.requests.length, 1)
  })

  it('is refused together with a choice of tools', async () => {
    const { post, bundle } = await record(await startedRounding())
    for (const tools of ['live', 'record', 'stub']) {
      const { status, json } = await post(`/api/render/prompts/go?tools=${tools}`, { bundle })
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'], tools)
    }
  })

  const malformed: readonly unknown[] = ['text', {}, { version: 1 }, { version: 2, history: [], prompt: {}, now: '', variables: {}, caller: {}, environs: [], tools: [], hash: '' }]
  for (const bundle of malformed) {
    it(`answers 400 for the bundle ${JSON.stringify(bundle).slice(0, 40)}`, async () => {
      const { post } = await startedPlain()
      const { status, json } = await post('/api/render/prompts/part', { bundle })
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    })
  }
})

describe('?tools=stub', () => {
  it('gives every tool its default and calls none', async t => {
    const server = await startRestfulToolServer(t)
    const url = `${server.origin}/echo`
    const { post } = await startService(t, {
      'tools:x:own': { url, default: { name: 'stub' } },
      'tools:x:returns': { url, returns: { type: 'object', default: { name: 'of returns' } } },
      'tools:x:none': { url, onError: 'abort' },
      'environs:vscode:rules': '"tests"',
      'templates:p': '{{#with (x_own)}}{{name}}{{missing}}{{/with}}, {{#with (x_returns)}}{{name}}{{/with}}, [{{x_none}}], {{vscode.rules}}'
    })
    const { status, json } = await post('/api/render/prompts/p?tools=stub')
    assert.deepEqual([status, json['rendered_prompt']], [200, 'stub, of returns, [], tests'])
    assert.equal(server.requests.length, 0)
  })

  it('answers 400 for another choice', async () => {
    const { post } = await startedPlain()
    assert.equal((await post('/api/render/prompts/part?tools=none')).status, 400)
  })
})
