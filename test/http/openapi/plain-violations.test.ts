import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'

const registrations = { 'templates:hello': 'Hello {{name}}' }
const CHAT = '/api/chat/prompts/hello'
const RENDER = '/api/render/prompts/hello'

const started = shared(suite => startService(suite, registrations, { LLM_BASE_URL: 'builtin:echo' }))

describe('a request that its schema refuses', () => {
  const posts: ReadonlyArray<readonly [url: string, body: unknown, message: string]> = [
    [CHAT, { messages: [{ role: 'system', content: 'obey' }] }, 'body: messages.0.role must be "user" or "assistant" or "tool", not "system"'],
    [CHAT, { messages: [{ content: 'x' }] }, 'body: messages.0 needs "role"'],
    [CHAT, { temperature: 'warm' }, 'body: temperature must be a number or null, not a string'],
    [CHAT, { stop: ['a', 7] }, 'body: stop.1 must be a string, not 7'],
    [CHAT, { max_tokens: 1.5 }, 'body: max_tokens must be an integer or null, not 1.5'],
    [CHAT, { user: 'x', model: { id: 'x'.repeat(99) } }, 'body: model must be a string or null, not an object'],
    [CHAT, { messages: [{ role: 'x'.repeat(99) }] }, `body: messages.0.role must be "user" or "assistant" or "tool", not "${'x'.repeat(40)}"`],
    [CHAT, { variables: 'hunter2' }, 'body: variables must be an object or null, not a string'],
    [CHAT, { model: '' }, 'body: model must not be empty'],
    [CHAT, [1], 'body must be an object or null, not a list'],
    [RENDER, { variables: 5 }, 'body: variables must be an object or null, not 5'],
    [RENDER, { bundle: {} }, 'body: bundle needs "version"'],
    [`${RENDER}?tools=none`, {}, 'query: tools must be "live" or "record" or "stub", not "none"'],
    [`${CHAT}?tools=stub`, {}, 'query: tools must be "live", not "stub"'],
    ['/api/prompts/hello/chat?tools=record', {}, 'query: tools must be "live", not "record"'],
    [RENDER, { variables: {}, args: {} }, 'body must not have both "variables" and "args"'],
    [CHAT, { variables: { a: 1 }, args: {} }, 'body must not have both "variables" and "args"'],
    ['/api/lint', {}, 'body needs exactly one of "extension", "prompt", "agent", "skill", "plan", "template"'],
    ['/api/lint', { prompt: 'x', template: 'x' }, 'body needs exactly one of "extension", "prompt", "agent", "skill", "plan", "template"'],
    ['/api/lint', { prompt: 'x', syntax: 'go' }, 'body has "syntax", which needs "template"'],
    ['/api/lint', { template: 'x', syntax: 'jinja' }, 'body: syntax must be "go" or "handlebars", not "jinja"'],
    [`${CHAT}?explain=maybe`, {}, 'query: explain must be true or false, not "maybe"']
  ]
  for (const [url, body, message] of posts) {
    it(`is told: ${message}`, async () => {
      const { post } = await started()
      const { status, json } = await post(url, body)
      assert.deepEqual([json['message'], status], [message, 400])
    })
  }

  for (const header of ['if-match', 'if-none-match']) {
    for (const tags of ['RpxSPWqS7NC1', '"a" "b"', '"a', '*, "a"', "'a'"]) {
      it(`is told how ${header} is written: ${tags}`, async () => {
        const { app } = await started()
        const { status, json } = await app.inject({ method: 'DELETE', url: '/api/prompts/hello', headers: { [header]: tags } }).then(reply => ({ status: reply.statusCode, json: reply.json<{ message: string }>() }))
        assert.deepEqual([status, json.message], [400, `headers: ${header} must be ETags in double quotes, or *, not ${JSON.stringify(tags)}`])
      })
    }
  }

  it('is taken with null for what is not given', async () => {
    const { post } = await started()
    assert.equal((await post(RENDER, { variables: { name: 'Ada' }, args: null })).status, 200)
    assert.equal((await post(RENDER, { variables: null, args: { name: 'Ada' } })).status, 200)
  })

  const gets: ReadonlyArray<readonly [url: string, message: string]> = [
    ['/api/prompts?limit=0', 'query: limit must be >= 1, not 0'],
    ['/api/prompts?limit=many', 'query: limit must be an integer, not "many"'],
    ['/api/prompts?limit=1&limit=2', 'query: limit must be an integer, not a list']
  ]
  for (const [url, message] of gets) {
    it(`is told: ${message}`, async () => {
      const { get } = await started()
      assert.equal((await get(url)).json['message'], message)
    })
  }

  const longNumbers = [
    ['{"temperature":9007199254740993,"top_p":-9007199254740993,"max_tokens":12345678901234567890}', 200, undefined],
    ['{"max_tokens":9007199254740993,"temperature":"warm"}', 400, 'body: temperature must be a number or null, not a string']
  ] as const
  for (const [payload, status, message] of longNumbers) {
    it(`is not refused for the length of a number: ${payload}`, async () => {
      const { app } = await started()
      const reply = await app.inject({ method: 'POST', url: CHAT, headers: { 'content-type': 'application/json' }, payload: payload.replace('{', '{"variables":{"name":"Ada"},') })
      assert.deepEqual([reply.statusCode, reply.json<{ message?: string }>().message], [status, message])
    })
  }

  it('has the place as a fact for programs', async () => {
    const { post } = await started()
    const { json } = await post(CHAT, { messages: [{ role: 'system' }] })
    assert.deepEqual(json['details'], { part: 'body', violations: [{ path: 'messages.0.role', message: 'must be "user" or "assistant" or "tool", not "system"' }] })
  })

  const parts = [['/api/prompts?limit=0', 'query'], ['/api/prompts/%ff', 'path']] as const
  for (const [url, part] of parts) {
    it(`is said to be wrong in the ${part} of ${url.slice(0, 20)}`, async () => {
      const { get } = await started()
      const { json } = await get(url)
      assert.equal(json['details']?.['part'], part, JSON.stringify(json))
    })
  }

  it('is told in OpenAI\'s shape below /v1', async () => {
    const { post } = await started()
    const { json } = await post('/v1/chat/completions', { prompt: { id: 'hello', name: 'x' } })
    assert.deepEqual(json['error'], { message: 'body: prompt must not have "name": it takes "id", "version", "variables", "revision"', type: 'invalid_request_error', param: null, code: 'REQUEST_INVALID' })
  })
})
