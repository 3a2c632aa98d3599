import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { undeclared } from '../../helpers/declared-replies.ts'
import { startService } from '../../helpers/service.ts'
import { sendJson, startUpstream } from '../../helpers/upstream-server.ts'

const asked = [
  ['/api/chat/prompts/{id}', '/api/chat/prompts/hello', {}],
  ['/api/prompts/{id}/chat', '/api/prompts/hello/chat', {}],
  ['/v1/chat/completions', '/v1/chat/completions', { model: 'm', messages: [] }],
  ['/v1/embeddings', '/v1/embeddings', { model: 'm', input: 'x' }]
] as const

const refusals: ReadonlyArray<readonly [status: number, body: object]> = [
  [400, { error: { message: 'no such model' } }],
  [402, { error: { message: null, code: 1 } }],
  [404, { detail: 'Not Found' }],
  [413, { error: 'too long' }],
  [422, { error: { detail: [{ loc: ['body'] }] } }],
  [451, {}]
]

describe('what a model\'s API refuses', () => {
  for (const [path, url, payload] of asked) {
    it(`is answered by ${path} with its status, as openapi.json says`, async t => {
      let refusal = refusals[0] as typeof refusals[number]
      const upstream = await startUpstream((_hit, response) => sendJson(response, ...refusal))
      t.after(() => upstream.close())
      const { app } = await startService(t, { 'templates:hello': 'Hello' }, { LLM_BASE_URL: upstream.baseUrl, LLM_MODEL: 'm', LOG_LEVEL: 'silent' })
      for (refusal of refusals) {
        const reply = await app.inject({ method: 'POST', url, payload })
        assert.equal(reply.statusCode, refusal[0])
        assert.equal(undeclared('POST', path, reply), undefined, reply.body)
        assert.match(String(reply.headers['x-request-id']), /^[\w-]{36}$/)
      }
    })
  }

  it('keeps all digits of its numbers', async t => {
    const upstream = await startUpstream((_hit, response) => response.writeHead(422).end('{"error":{"limit":12345678901234567890}}'))
    t.after(() => upstream.close())
    const { app } = await startService(t, { 'templates:hello': 'Hello' }, { LLM_BASE_URL: upstream.baseUrl, LLM_MODEL: 'm' })
    const reply = await app.inject({ method: 'POST', url: '/api/chat/prompts/hello' })
    assert.deepEqual([reply.statusCode, reply.body], [422, '{"error":{"limit":12345678901234567890}}'])
  })
})
