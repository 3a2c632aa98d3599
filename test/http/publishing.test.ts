import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listAll } from '../helpers/list-all.ts'
import { type Service, startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

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

  for (const [url, key, text, mended] of [
    ['/api/prompts/a.b', 'shenma:templates:a:b', '{"userPrompt": "Hello', '{"userPrompt":"Hello"}'],
    ['/api/environs/a', 'shenma:environs:a', '{"b": ', '{"b":1}']
  ] as const) {
    it(`gives the text that cannot be read at ${url}, and replaces exactly that`, async t => {
      const service = await startService(t, { 'templates:a:b': { userPrompt: 'Good' } })
      service.store.set(key, text)
      const { statusCode, body, headers } = await service.app.inject(`${url}/stored`)
      assert.deepEqual([statusCode, body, headers['content-type']], [200, text, 'text/plain; charset=utf-8'])
      assert.equal((await put(service, url, mended, { 'if-match': '"anotherone12"' })).statusCode, 412)
      assert.equal((await put(service, url, mended, { 'if-match': String(headers.etag) })).statusCode, 200)
      assert.equal((await put(service, url, mended, { 'if-match': String(headers.etag) })).statusCode, 412)
      assert.equal((await service.app.inject(`${url}/stored`)).body, mended)
    })
  }

  it('shows what is stored only to whoever may change it', async t => {
    const { app } = await startService(t, { 'templates:a:b': 'x' }, { API_TOKENS: [tokenEntry('reader', 'read'), tokenEntry('writer', 'write:prompts=b.*'), tokenEntry('all', 'write')].join('\n') })
    const statusFor = async (name: string) => (await app.inject({ url: '/api/prompts/a.b/stored', headers: bearer(name) })).statusCode
    assert.deepEqual(await Promise.all(['reader', 'writer', 'all'].map(statusFor)), [403, 403, 200])
  })

  it('says that an earlier version is served in place of a text that cannot be read, to whoever wants to mend it', async t => {
    const service = await startService(t, { 'templates:a': 'Good' })
    service.store.set('shenma:templates:a', '{"userPrompt": "Hello')
    const broken = async () => await service.get('/api/prompts/a?broken=true')
    await waitFor('the mistake', async () => (await broken()).status === 404)
    assert.match(JSON.stringify((await broken()).json), /VALUE_INVALID/)
    assert.equal((await service.get('/api/prompts/a')).status, 200)
  })

  it('publishes while as many lints wait as can', async t => {
    const service = await startService(t, {})
    const lint = () => service.app.inject({ method: 'POST', url: '/api/lint', payload: '{"template":"x"}', headers: { 'content-type': 'application/json' } })
    const lints = Promise.all(Array.from({ length: 20 }, lint))
    const published = await put(service, '/api/prompts/a', '{"userPrompt":"x"}')
    assert.equal(published.statusCode, 201, published.body)
    assert.ok((await lints).some(({ statusCode }) => statusCode === 503))
  })

  it('stores nothing that has an error, and says which', async t => {
    const service = await startService(t, {})
    const reply = await put(service, '/api/prompts/a', '{"userPrompt":"{{#if"}')
    assert.equal(reply.statusCode, 400)
    assert.match(reply.body, /"ENTRY_INVALID".*"SYNTAX"/)
    assert.deepEqual(await listAll(service.store, ''), [])
  })

  it('says of a shared variable that no template finds it under a reserved name', async t => {
    const service = await startService(t, {})
    const reply = await put(service, '/api/environs/variables.x', '1')
    const [listed] = (await service.app.inject('/api/status/entries')).json<Array<{ diagnostics: object[] }>>()
    assert.equal(reply.statusCode, 201)
    assert.deepEqual(reply.json<{ diagnostics: object[] }>().diagnostics, listed?.diagnostics)
  })

  const refused = [
    ['/api/prompts/a', '{"userPrompt":"a\\n{{#if x}}"}', '"a" was not stored: "if" has no {{/if}} at line 2, column 1'],
    ['/api/prompts/a', '{"userPrompt":"{{nope 1}}"}', '"a" was not stored: function "nope" is no builtin of Handlebars and no registered tool at line 1, column 1'],
    ['/api/prompts/a', '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"{{#if x}}"}]}', '"a" was not stored: "if" has no {{/if}} at message 1, line 1, column 1'],
    ['/api/prompts/a', '{\n  "userPrompt": 5\n}', '"a" was not stored: userPrompt must be a string, not 5 at line 2, column 3'],
    ['/api/prompts/a', '{"userPrompt":"x",\n"parameters":5}', '"a" was not stored: parameters must be a list or an object or null, not 5 at line 2, column 1'],
    ['/api/tools/a', '{"type":"restful",\n\t"url":5}', '"a" was not stored: tool.url must be string at line 2, column 2'],
    ['/api/tools/a', '{"url":"http://a/","headers":\n{"x-a":\n5}}', '"a" was not stored: tool.headers.x-a must be string at line 2, column 2'],
    ['/api/extensions/a', '{"name":"a",\n"contributes":{"prompts":[{"name":"p"},\n{"name":"q","userPrompt":7}]}}', '"a" was not stored: contributes.prompts.0: exactly one of messages, userPrompt or prompt is expected, and it has "name" at line 2, column 27; contributes.prompts.1.userPrompt must be a string, not 7 at line 3, column 13'],
    ['/api/extensions/a', '{"name":"a","contributes":{"prompts":[{"name":"p","userPrompt":"{{nope 1}}"}]}}', '"a" was not stored: prompt a.p: function "nope" is no builtin of Handlebars and no registered tool at line 1, column 1']
  ] as const
  for (const [url, text, message] of refused) {
    it(`says where: ${message}`, async t => {
      const service = await startService(t, {})
      assert.equal((await put(service, url, text)).json<{ message: string }>().message, message)
    })
  }

  it('takes a template as plain text', async t => {
    const service = await startService(t, {})
    const reply = await put(service, '/api/prompts/a', '{{variables.name}} is here', { 'content-type': 'Text/Plain; charset=UTF-8' })
    assert.equal(reply.statusCode, 201)
    assert.equal(String((await service.post('/api/render/prompts/a', { variables: { name: 'Ada' } })).json['rendered_prompt']), 'Ada is here')
  })

  const unsupported = [
    ['a form', '/api/prompts/a', 'application/x-www-form-urlencoded', 'application/json or text/plain'],
    ['YAML', '/api/environs/a', 'application/yaml', 'application/json or text/plain'],
    ['a plain text for a tool', '/api/tools/a', 'text/plain', 'application/json'],
    ['a plain text for an extension', '/api/extensions/a', 'text/plain', 'application/json']
  ] as const
  for (const [title, url, type, accepted] of unsupported) {
    it(`answers 415 to ${title}, and stores nothing`, async t => {
      const service = await startService(t, {})
      const reply = await put(service, url, '{}', { 'content-type': type })
      const { code, message } = reply.json<{ code: string, message: string }>()
      assert.deepEqual([reply.statusCode, code, message], [415, 'MEDIA_TYPE_UNSUPPORTED', `The body must have content-type: ${accepted}, "${type}" was given`])
      assert.deepEqual(await listAll(service.store, ''), [])
    })
  }

  for (const type of ['text/plain; charset=utf-16le', 'text/plain;CharSet="ISO-8859-1"', 'application/json; x=1; charset=utf-16']) {
    it(`answers 415 to ${type}, and stores nothing`, async t => {
      const service = await startService(t, {})
      const reply = await service.app.inject({ method: 'PUT', url: '/api/environs/u.sixteen', headers: { 'content-type': type }, payload: Buffer.from('"Hi"', 'utf16le') })
      const { code, message } = reply.json<{ code: string, message: string }>()
      const [, charset = ''] = /charset="?([\w-]*)/i.exec(type) ?? []
      assert.deepEqual([reply.statusCode, code, message], [415, 'CHARSET_UNSUPPORTED', `Bodies are taken in UTF-8 only, and this one has charset: ${charset}`])
      assert.deepEqual(await listAll(service.store, ''), [])
    })
  }

  for (const type of ['text/plain; charset="utf8"', 'application/json;charset=US-ASCII', 'text/plain; charset=utf-8; format=flowed']) {
    it(`takes ${type}`, async t => {
      assert.equal((await put(await startService(t, {}), '/api/environs/a', '"Hi"', { 'content-type': type })).statusCode, 201)
    })
  }

  const removals = [
    ['the ETag of what is there', (etag: string) => etag, 204],
    ['its weak form, as proxies make it', (etag: string) => `W/${etag}`, 204],
    ['one of several ETags', (etag: string) => `"other", ${etag}`, 204],
    ['*', () => '*', 204],
    ['another ETag', () => '"other"', 412],
    ['what is no ETag', () => 'other', 400]
  ] as const
  for (const [title, condition, expected] of removals) {
    it(`answers ${expected} to a DELETE with If-Match: ${title}`, async t => {
      const service = await startService(t, { 'environs:a': 1 })
      const { headers } = await service.get('/api/environs/a')
      const reply = await service.app.inject({ method: 'DELETE', url: '/api/environs/a', headers: { 'if-match': condition(String(headers['etag'])) } })
      assert.equal(reply.statusCode, expected, reply.body)
      assert.equal((await listAll(service.store, '')).length, expected === 204 ? 0 : 1)
    })
  }

  it('answers 412 to a DELETE with If-Match where nothing is', async t => {
    const { app } = await startService(t, {})
    assert.equal((await app.inject({ method: 'DELETE', url: '/api/environs/a', headers: { 'if-match': '*' } })).statusCode, 412)
  })
})
