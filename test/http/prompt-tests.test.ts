import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Registrations } from '../helpers/registered.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const GREET = { userPrompt: 'Say hello to {{variables.name}}', parameters: [{ name: 'name', type: 'string' }] }
const CASE = { description: 'greets by name', vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Ada' }] }
const JUDGE = { userPrompt: 'judge {{variables.rubric}}: {{variables.output}}', structured: true, returns: { type: 'object', properties: { pass: { type: 'boolean' }, score: { type: 'number' }, reason: { type: 'string' } }, required: ['pass'] } }

const REPLIES = `
- last: [judge, friendly, Hello]
  reply: '{ "pass": true, "score": 0.9, "reason": "It greets." }'
- last: judge
  reply: '{ "pass": false, "score": 0.1, "reason": "It does not." }'
- last: say hello
  reply: Hello!
`

async function open (t: TestContext, registrations: Registrations = { 'templates:greet': GREET }, environment: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('replies.yaml', REPLIES)
  const service = await startService(t, registrations, { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: `${folder.path}/replies.yaml`, ...environment })
  return {
    ...service,
    run: async (testCase: object, { path = 'greet', known, query = '' }: { readonly path?: string, readonly known?: unknown, readonly query?: string } = {}) => await service.post(`/api/prompts/${path}/tests/run${query}`, { case: testCase, ...(known === undefined ? {} : { known }) }),
    async call (method: 'PUT' | 'DELETE', url: string, payload?: unknown, headers = {}) {
      const { statusCode: status, headers: { etag }, body } = await service.app.inject({ method, url, headers: { ...(payload === undefined ? {} : { 'content-type': 'application/json' }), ...headers }, ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }) })
      return { status, etag: String(etag), json: (body === '' ? {} : JSON.parse(body)) as JsonView }
    }
  }
}

describe('Tests beside a prompt', () => {
  it('are stored under a key of their own, got, listed, replaced and removed', async t => {
    const { call, get, store } = await open(t)
    const { revision } = (await get('/api/prompts/greet')).json
    const put = await call('PUT', '/api/prompts/greet/tests', [CASE])
    assert.deepEqual([put.status, put.json['id'], put.json['key']], [201, 'greet', 'shenma:tests:greet'])
    assert.deepEqual((await store.read(['shenma:tests:greet']))[0], { kind: 'text', text: JSON.stringify([CASE]) })
    const got = await get('/api/prompts/greet/tests')
    assert.deepEqual([got.json, got.headers['etag']], [{ id: 'greet', tests: [CASE] }, put.etag])
    assert.deepEqual((await get('/api/tests')).json, ['greet'])
    assert.deepEqual((await get('/api/tests?detail=true')).json, [{ id: 'greet', cases: 1, etag: put.etag }])
    assert.equal((await call('PUT', '/api/prompts/greet/tests', [CASE, CASE], { 'if-match': '"another"' })).status, 412)
    assert.equal((await call('PUT', '/api/prompts/greet/tests', [CASE, CASE], { 'if-match': put.etag })).status, 200)
    assert.equal((await get('/api/prompts/greet')).json['revision'], revision)
    assert.equal((await call('DELETE', '/api/prompts/greet/tests')).status, 204)
    const gone = await get('/api/prompts/greet/tests')
    assert.deepEqual([gone.status, gone.json['code']], [404, 'ENTRY_NOT_FOUND'])
  })

  it('are refused with a mistake in them, at its place', async t => {
    const { call } = await open(t)
    const { status, json } = await call('PUT', '/api/prompts/greet/tests', [{ assert: [{ type: 'contans', value: 'x' }] }])
    assert.deepEqual([status, json['code']], [400, 'ENTRY_INVALID'])
    assert.equal(json['details']?.['diagnostics']?.['0']?.['code'], 'SCHEMA')
    assert.ok(Number(json['details']?.['diagnostics']?.['0']?.['column']) > 1)
  })

  it('that cannot be read say why, and are listed without a tag', async t => {
    const { get, store } = await open(t)
    store.set('shenma:tests:greet', '{')
    const { status, json } = await get('/api/prompts/greet/tests')
    assert.deepEqual([status, json['code']], [409, 'TESTS_UNREADABLE'])
    assert.deepEqual((await get('/api/tests?detail=true')).json, [{ id: 'greet', cases: 0 }])
  })

  it('are no shared variables, and no kind of what is served', async t => {
    const { get, post } = await open(t, { 'tests:greet': [CASE] })
    await post('/api/status/reload')
    assert.deepEqual((await get('/api/environs')).json, [])
    assert.deepEqual(Object.keys((await get('/readyz')).json['kinds'] ?? {}).filter(kind => kind === 'tests'), [])
  })

  it('come page by page', async t => {
    const { get } = await open(t, { 'tests:a': [], 'tests:b:one': [], 'tests:b:two': [] })
    const first = await get('/api/tests?limit=2')
    assert.deepEqual(first.json, ['a', 'b.one'])
    assert.match(String(first.headers['link']), /after=b\.one/)
    assert.deepEqual((await get('/api/tests?limit=2&after=b.one')).json, ['b.two'])
    assert.deepEqual((await get('/api/tests?prefix=b:')).json, ['b.one', 'b.two'])
  })

  it('are for callers whose patterns have their prompt', async t => {
    const { get, call } = await open(t, { 'templates:greet': GREET, 'tests:greet': [CASE], 'tests:team:a': [CASE] }, { API_TOKENS: `${tokenEntry('team', 'read+write:prompts=team.*')},${tokenEntry('all', 'admin')}` })
    assert.deepEqual((await get('/api/tests', bearer('team'))).json, ['team.a'])
    assert.equal((await get('/api/prompts/greet/tests', bearer('team'))).status, 404)
    assert.equal((await call('PUT', '/api/prompts/greet/tests', [CASE], bearer('team'))).status, 403)
    assert.deepEqual((await get('/api/tests', bearer('all'))).json, ['greet', 'team.a'])
  })
})

describe('A case', () => {
  it('passes when all holds of what the prompt renders to', async t => {
    const { run } = await open(t)
    const { status, json } = await run(CASE)
    assert.equal(status, 200)
    const { durationMs, ...rest } = json
    assert.ok(Number(durationMs) >= 0)
    assert.deepEqual(rest, { id: 'greet', pass: true, output: 'Say hello to Ada', checks: [{ type: 'contains', pass: true, reason: '' }] })
  })

  it('fails with the reason of each assertion that does not hold', async t => {
    const { run } = await open(t)
    const { json } = await run({ vars: { name: 'Ada' }, assert: [{ type: 'contains', value: 'Bob' }, { type: 'starts-with', value: 'Say' }] })
    assert.equal(json['pass'], false)
    assert.deepEqual(json['checks'], [{ type: 'contains', pass: false, reason: 'expected "Bob", got "Say hello to Ada"' }, { type: 'starts-with', pass: true, reason: '' }])
  })

  it('fails with the error of a render that gives nothing', async t => {
    const { run } = await open(t)
    const { status, json } = await run({ assert: [{ type: 'contains', value: 'Ada' }] })
    assert.deepEqual([status, json['pass'], json['error']?.['code']], [200, false, 'VARIABLE_MISSING'])
  })

  it('looks at all messages of a prompt', async t => {
    const { run } = await open(t, { 'templates:talk': [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }] })
    assert.equal((await run({ assert: [{ type: 'equals', value: 'Be brief.\n\nHi' }] }, { path: 'talk' })).json['pass'], true)
  })

  it('asks the model, and has a stored prompt judge its answer', async t => {
    const { run } = await open(t, { 'templates:greet': GREET, 'templates:evaluator:judge': JUDGE })
    const testCase = { run: 'chat', vars: { name: 'Ada' }, assert: [{ type: 'equals', value: 'Hello!' }, { type: 'llm-rubric', value: 'is friendly' }, { type: 'llm-rubric', value: 'is friendly', threshold: 0.95 }, { type: 'not-llm-rubric', value: 'is rude' }] }
    const { json } = await run(testCase)
    assert.deepEqual([json['output'], json['pass']], ['Hello!', false])
    assert.deepEqual(json['checks'], [
      { type: 'equals', pass: true, reason: '' },
      { type: 'llm-rubric', pass: true, reason: 'It greets.', score: 0.9 },
      { type: 'llm-rubric', pass: false, reason: 'It greets.', score: 0.9 },
      { type: 'not-llm-rubric', pass: true, reason: 'It does not.', score: 0.1 }
    ])
  })

  it('fails where its judge is not there, or gives no verdict', async t => {
    const { run } = await open(t, { 'templates:greet': GREET, 'templates:talker': 'say hello' })
    const reasonOf = async (judge?: string) => (await run({ vars: { name: 'Ada' }, ...(judge === undefined ? {} : { judge }), assert: [{ type: 'llm-rubric', value: 'x' }] })).json['checks']?.['0']?.['reason']
    assert.match(String(await reasonOf()), /evaluator\.judge cannot judge: Prompt "evaluator\.judge" not found.*\(PROMPT_NOT_FOUND\)/)
    assert.match(String(await reasonOf('talker')), /talker gave no verdict.*Hello!/)
  })

  it('calls no tool unless it says live; what was recorded is answered from it', async t => {
    const tool = { module: 'crm', name: 'find', restful: { url: 'http://127.0.0.1:9/{id}', method: 'GET' }, parameters: [{ name: 'id', type: 'string' }], default: 'nobody' }
    const { run, post } = await open(t, { 'templates:ask': '{{crm_find id="7"}}', 'tools:crm:find': tool })
    const outputOf = async (testCase: object, known?: unknown) => (await run(testCase, { path: 'ask', known })).json['output']
    assert.equal(await outputOf({}), 'nobody')
    const { bundle } = (await post('/api/render/prompts/ask?tools=record')).json
    const known = { ...bundle, tools: [{ tool: 'crm.find', arguments: { id: '7' }, value: 'Ida' }] }
    assert.equal(await outputOf({ tools: 'recorded.json' }, known), 'Ida')
    const { status, json } = await run({ tools: 'recorded.json' }, { path: 'ask' })
    assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
  })

  it('needs tools: live for a model that calls tools itself', async t => {
    const { run } = await open(t, { 'templates:loop': { userPrompt: 'x', defaults: { toolLoop: true } } })
    assert.match(String((await run({ run: 'chat' }, { path: 'loop' })).json['error']?.['message']), /needs tools: live/)
  })

  it('is of the version that is asked for', async t => {
    const { run, post, call } = await open(t, { 'templates:greet': 'old' }, { VERSIONS: 'http' })
    await post('/api/prompts/greet/versions', {})
    await call('PUT', '/api/prompts/greet', 'new')
    await call('PUT', '/api/prompts/greet/labels/staging', { version: 1 })
    const seen = async (query: string, path = 'greet') => {
      const { output, version, label } = (await run({}, { query, path })).json
      return [output, version, label]
    }
    assert.deepEqual([await seen(''), await seen('?label=staging'), await seen('', 'greet@1')], [['new', 2, undefined], ['old', 1, 'staging'], ['old', 1, undefined]])
    assert.equal((await run({}, { query: '?label=nope' })).status, 404)
  })

  it('is run for whoever may publish its prompt, and asks a model for whoever may chat', async t => {
    const { post, get } = await open(t, { 'templates:greet': GREET }, { API_TOKENS: `${tokenEntry('reader', 'read+render+chat')},${tokenEntry('writer', 'write')},${tokenEntry('both', 'write+chat')}` })
    const run = async (who: string, testCase: object) => (await post('/api/prompts/greet/tests/run', { case: testCase }, bearer(who))).status
    assert.deepEqual([await run('reader', CASE), await run('writer', CASE)], [403, 200])
    assert.deepEqual([await run('writer', { ...CASE, run: 'chat' }), await run('both', { ...CASE, run: 'chat' })], [403, 200])
    assert.equal((await get('/api/tests', bearer('writer'))).status, 403)
  })

  it('with a mistake in it is refused, and counts as no render of the prompt', async t => {
    const { run, app } = await open(t)
    const { status, json } = await run({ assert: [{ type: 'contains' }] })
    assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    await run(CASE)
    assert.doesNotMatch((await app.inject('/metrics')).body, /prompt_shell_renders_total\{[^}]*prompt="greet"/)
  })
})
