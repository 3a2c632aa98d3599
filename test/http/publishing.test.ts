import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Service, startService } from '../helpers/service.ts'

function put ({ app }: Service, url: string, payload: string, headers: Readonly<Record<string, string>> = {}) {
  return app.inject({ method: 'PUT', url, payload, headers: { 'content-type': 'application/json', ...headers } })
}

describe('PUT and DELETE /api/{kind}/{id}', () => {
  const entries = [
    ['/api/extensions/e', '{"name":"e","contributes":{"prompts":[{"name":"p","userPrompt":"x"}]}}'],
    ['/api/prompts/a.b', '{"userPrompt":"Hi {{variables.name}}"}'],
    ['/api/environs/vscode.rules', '{"id":12345678901234567890}'],
    ['/api/tools/m.t', '{"url":"http://127.0.0.1:1/x"}']
  ] as const
  for (const [url, text] of entries) {
    it(`serves what was put at ${url}, under the ETag of its GET, until it is deleted`, async t => {
      const service = await startService(t, {})
      const created = await put(service, url, text)
      assert.equal(created.statusCode, 201, created.body)
      assert.equal((await service.get(url)).headers['etag'], created.headers.etag)
      assert.equal((await put(service, url, text)).statusCode, 200)
      assert.equal((await service.app.inject({ method: 'DELETE', url })).statusCode, 204)
      assert.equal((await service.get(url)).status, 404)
      assert.equal((await service.app.inject({ method: 'DELETE', url })).statusCode, 404)
    })
  }

  it('refuses with 412 what somebody else has changed meanwhile', async t => {
    const service = await startService(t, { 'environs:a': 1 })
    const { headers } = await service.get('/api/environs/a')
    service.store.set('shenma:environs:a', '2')
    const reply = await put(service, '/api/environs/a', '3', { 'if-match': String(headers['etag']) })
    assert.equal(reply.statusCode, 412)
    assert.equal((await put(service, '/api/environs/a', '3', { 'if-none-match': '*' })).statusCode, 412)
    assert.deepEqual(await service.store.read(['shenma:environs:a']), [{ kind: 'text', text: '2' }])
  })

  it('stores nothing that has an error, and says which', async t => {
    const service = await startService(t, {})
    const reply = await put(service, '/api/prompts/a', '{"userPrompt":"{{#if"}')
    assert.equal(reply.statusCode, 400)
    assert.match(reply.body, /"ENTRY_INVALID".*"SYNTAX"/)
    assert.deepEqual(await service.store.list(''), [])
  })

  it('takes a template as plain text', async t => {
    const service = await startService(t, {})
    const reply = await put(service, '/api/prompts/a', '{{variables.name}} is here', { 'content-type': 'text/plain' })
    assert.equal(reply.statusCode, 201)
    assert.equal(String((await service.post('/api/render/prompts/a', { variables: { name: 'Ada' } })).json['rendered_prompt']), 'Ada is here')
  })
})
