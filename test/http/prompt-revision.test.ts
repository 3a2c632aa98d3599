import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const registrations = {
  'templates:outer': 'Hello {{> inner}}',
  'templates:inner': '{{variables.name}}',
  'templates:broken': '{{#if'
}
const environment = { LLM_BASE_URL: 'builtin:echo' }
const routes = [
  ['GET', '/api/prompts/outer'],
  ['POST', '/api/render/prompts/outer'],
  ['POST', '/api/prompts/outer/render'],
  ['POST', '/api/chat/prompts/outer'],
  ['POST', '/api/prompts/outer/chat']
] as const

const started = shared(suite => startService(suite, registrations, environment))

for (const [method, url] of routes) {
  describe(`${method} ${url}`, () => {
    const body = method === 'POST' ? { payload: { variables: { name: 'Ada' } } } : {}

    it('answers at the revision that it tells', async () => {
      const { app } = await started()
      const { headers, statusCode } = await app.inject({ method, url, ...body })
      assert.equal(statusCode, 200)
      const revision = String(headers['x-prompt-revision'])
      assert.match(revision, /^[\w-]{12}$/)
      assert.equal((await app.inject({ method, url, query: { revision }, ...body })).statusCode, 200)
    })

    it('answers 409 with the revision of now when an included prompt has changed', async t => {
      const { app, store, post } = await startService(t, registrations, environment)
      const revision = String((await app.inject({ method, url, ...body })).headers['x-prompt-revision'])
      store.set('shenma:templates:inner', 'dear {{variables.name}}')
      await post('/api/status/reload')
      const reply = await app.inject({ method, url, query: { revision }, ...body })
      assert.deepEqual([reply.statusCode, reply.json<{ code: string }>().code], [409, 'PROMPT_REVISION'])
      assert.notEqual(reply.headers['x-prompt-revision'], revision)
    })
  })
}

describe('a revision', () => {
  const base = { userPrompt: 'Hello {{> inner}}', description: 'Greets', owner: 'one' }
  const revisionOf = async (t: TestContext, outer: object) => {
    const { get } = await startService(t, { ...registrations, 'templates:outer': outer })
    return (await get('/api/prompts/outer')).json['revision']
  }

  it('stays when only the description, the owner or the scenes change', async t => {
    assert.equal(await revisionOf(t, base), await revisionOf(t, { ...base, description: 'Says hello', owner: 'two', supports: ['chat'] }))
  })

  const changes: ReadonlyArray<readonly [what: string, change: object]> = [
    ['text', { userPrompt: 'Hi {{> inner}}' }],
    ['syntax', { syntax: 'handlebars' }],
    ['parameters', { parameters: [{ name: 'name', type: 'string' }] }],
    ['settings of the model', { defaults: { temperature: 0 } }],
    ['answer', { returns: { type: 'object' } }]
  ]
  for (const [what, change] of changes) {
    it(`changes with the ${what}`, async t => assert.notEqual(await revisionOf(t, base), await revisionOf(t, { ...base, ...change })))
  }
})

describe('x-prompt-revision', () => {
  it('comes with a stream', async () => {
    const { app, get } = await started()
    const { json } = await get('/api/prompts/outer')
    const reply = await app.inject({ method: 'POST', url: '/api/chat/prompts/outer', payload: { variables: { name: 'Ada' }, stream: true } })
    assert.equal(String(reply.headers['content-type']).split(';')[0], 'text/event-stream')
    assert.equal(reply.headers['x-prompt-revision'], json['revision'])
  })

  it('comes with an answer of /v1', async () => {
    const { app, get } = await started()
    const { json } = await get('/api/prompts/outer')
    const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: { prompt: { id: 'outer', variables: { name: 'Ada' } } } })
    assert.equal(reply.headers['x-prompt-revision'], json['revision'])
  })

  it('comes with the error of a prompt that cannot run', async () => {
    const { post } = await started()
    const { status, headers } = await post('/api/render/prompts/broken', {})
    assert.equal(status, 400)
    assert.match(String(headers['x-prompt-revision']), /^[\w-]{12}$/)
  })

  it('is absent when there is no such prompt', async () => {
    const { post } = await started()
    const { status, headers } = await post('/api/render/prompts/none?revision=x', {})
    assert.deepEqual([status, headers['x-prompt-revision']], [404, undefined])
  })
})
