import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadConfig } from '../../../src/config/config.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'

const registrations = { 'templates:greet': 'Hello', 'tools:a:b': { name: 'b', type: 'restful', url: 'http://127.0.0.1:1/b' } }
const READ = { method: 'GET', url: '/api/prompts' } as const
const RENDER = { method: 'POST', url: '/api/render/prompts/greet' } as const
const WRITE = { method: 'POST', url: '/api/tools/a.b/call' } as const
const ELSEWHERE = '192.0.2.7'

describe('the address to listen on', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) {
    it(`may be ${host} without tokens`, () => {
      assert.equal(loadConfig({ STORE_DIR: 'x', HOST: host }).HOST, host)
    })
  }

  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'localhost.example.com', '127.0.0.1.example.com']) {
    it(`must not be ${host} without tokens, unless AUTH=off is said`, () => {
      assert.throws(() => loadConfig({ STORE_DIR: 'x', HOST: host }), /HOST: without API_TOKENS expected a loopback address/)
      assert.equal(loadConfig({ STORE_DIR: 'x', HOST: host, AUTH: 'off' }).HOST, host)
      assert.equal(loadConfig({ STORE_DIR: 'x', HOST: host, API_TOKENS: 'a' }).HOST, host)
    })
  }

  it('is not asked about when AUTH=off and tokens contradict each other', () => {
    assert.throws(() => loadConfig({ STORE_DIR: 'x', AUTH: 'off', API_TOKENS: 'a' }), /expected one of them, got both/)
  })

  it('does not matter when the tokens cannot be read: the start is refused', async t => {
    await assert.rejects(startService(t, {}, { API_TOKENS: 'ide:chat:secret' }), /API_TOKENS: entry 1 \("ide"\): expected the SHA-256/)
  })
})

const startedWithCors = shared(suite => startService(suite, registrations, { CORS_ORIGINS: 'https://console.example' }))
const started = shared(suite => startService(suite, registrations))
const startedOpen = shared(suite => startService(suite, registrations, { AUTH: 'off' }))

describe('without tokens', () => {
  const cases = [
    ['reads, from this machine', started, READ, {}, '127.0.0.1', 200],
    ['renders, from this machine', started, RENDER, {}, '127.0.0.1', 200],
    ['writes, from this machine', started, WRITE, {}, '127.0.0.1', 200],
    ['writes, over IPv6', started, WRITE, {}, '::1', 200],
    ['writes, from an own page', started, WRITE, { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' }, '127.0.0.1', 200],
    ['writes, from a page of another host', started, WRITE, { host: '127.0.0.1:8080', origin: 'https://evil.example' }, '127.0.0.1', 403],
    ['writes, from a page without an origin', started, WRITE, { origin: 'null' }, '127.0.0.1', 403],
    ['renders, from a page of another host', started, RENDER, { origin: 'https://evil.example' }, '127.0.0.1', 403],
    ['renders, from a page that CORS lets in', startedWithCors, RENDER, { origin: 'https://console.example' }, '127.0.0.1', 200],
    ['reads, under a name that was pointed here', started, READ, { host: 'evil.example:8080' }, '127.0.0.1', 403],
    ['writes, under a name that was pointed here', started, WRITE, { host: 'evil.example:8080', origin: 'http://evil.example:8080' }, '127.0.0.1', 403],
    ['AUTH=off: reads, from elsewhere', startedOpen, READ, { host: '192.0.2.1:8080' }, ELSEWHERE, 200],
    ['AUTH=off: renders, from elsewhere', startedOpen, RENDER, { host: '192.0.2.1:8080' }, ELSEWHERE, 200],
    ['AUTH=off: renders, from elsewhere under a name that was pointed here', startedOpen, RENDER, { host: 'evil.example' }, ELSEWHERE, 403],
    ['AUTH=off: writes, from elsewhere', startedOpen, WRITE, { host: '192.0.2.1:8080' }, ELSEWHERE, 403],
    ['AUTH=off: writes, through a proxy on this machine', startedOpen, WRITE, { 'x-forwarded-for': ELSEWHERE }, '127.0.0.1', 403],
    ['AUTH=off: writes, from this machine', startedOpen, WRITE, {}, '127.0.0.1', 200],
    ['AUTH=off: writes, under a name that was pointed here', startedOpen, WRITE, { host: 'evil.example' }, '127.0.0.1', 403]
  ] as const
  for (const [what, where, request, headers, remoteAddress, status] of cases) {
    it(`${status === 200 ? 'allows' : 'refuses'} ${what}`, async () => {
      const { app } = await where()
      const reply = await app.inject({ ...request, headers: { host: '127.0.0.1', ...headers }, remoteAddress })
      assert.equal(reply.statusCode, status, reply.body)
    })
  }
})

describe('CORS', () => {
  it('is off: no reply lets a page of another host read it', async () => {
    const { app } = await started()
    const reply = await app.inject({ url: '/api/prompts', headers: { origin: 'https://console.example' } })
    assert.deepEqual(Object.keys(reply.headers).filter(name => name.startsWith('access-control')), [])
  })

  it('lets the origins in that are configured, and no others', async t => {
    const { app } = await startService(t, registrations, { CORS_ORIGINS: 'https://console.example, https://other.example' })
    const allowed = async (origin: string) => (await app.inject({ url: '/api/prompts', headers: { origin } })).headers['access-control-allow-origin']
    assert.deepEqual([await allowed('https://console.example'), await allowed('https://evil.example')], ['https://console.example', undefined])
  })

  it('lets a page send the headers that OpenAI\'s client adds, and read those that its retries go by', async () => {
    const { app } = await startedWithCors()
    const asked = 'authorization, content-type, x-stainless-lang, x-stainless-retry-count'
    const headers = { origin: 'https://console.example', 'access-control-request-method': 'POST', 'access-control-request-headers': asked }
    const preflight = await app.inject({ method: 'OPTIONS', url: '/v1/chat/completions', headers })
    assert.equal(preflight.headers['access-control-allow-headers'], asked)
    const reply = await app.inject({ url: '/api/prompts', headers: { origin: 'https://console.example' } })
    const exposed = String(reply.headers['access-control-expose-headers']).split(', ')
    for (const name of ['etag', 'retry-after', 'x-prompt-revision', 'x-should-retry']) assert.ok(exposed.includes(name), name)
  })

  it('answers an OPTIONS that is no preflight', async () => {
    const { app } = await startedWithCors()
    const reply = await app.inject({ method: 'OPTIONS', url: '/api/prompts' })
    assert.deepEqual([reply.statusCode, reply.body], [204, ''])
  })

  it('answers a preflight without a token, and a refusal so that the page can read it', async t => {
    const { app } = await startService(t, registrations, { CORS_ORIGINS: 'https://console.example', API_TOKENS: `a:read:${'0'.repeat(64)}` })
    const headers = { origin: 'https://console.example', 'access-control-request-method': 'POST' }
    const preflight = await app.inject({ method: 'OPTIONS', url: '/api/render/prompts/greet', headers })
    assert.deepEqual([preflight.statusCode, preflight.headers['access-control-allow-origin']], [204, 'https://console.example'])
    const refusal = await app.inject({ ...RENDER, headers })
    assert.deepEqual([refusal.statusCode, refusal.headers['access-control-allow-origin']], [401, 'https://console.example'])
  })

  for (const origins of ['*', 'console.example', 'https://console.example/', 'null']) {
    it(`refuses to start with the origin ${origins}`, async t => {
      await assert.rejects(startService(t, {}, { CORS_ORIGINS: origins }), /CORS_ORIGINS: expected origins/)
    })
  }
})
