import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const TEXT = 'The desk answers whoever asks. '.repeat(100)

describe('A reply of the API', () => {
  const agent = { mode: 'tools', help: 'Ask.', system: 'You are the desk.', tools: [], messages: {} }
  const open = shared(t => startService(t, { 'templates:long': TEXT, 'templates:short': 'Hello.', 'agents:desk': agent }, { LLM_BASE_URL: 'builtin:echo' }))

  const get = async (url: string, accepted?: string, method: 'GET' | 'HEAD' = 'GET') =>
    await (await open()).app.inject({ method, url, headers: accepted === undefined ? {} : { 'accept-encoding': accepted } })

  for (const [accepted, encoding] of [
    ['gzip', 'gzip'], ['gzip, deflate, br, zstd', 'br'], ['br;q=0.5, gzip', 'gzip'], ['GZIP;q=0.1', 'gzip'], ['*', 'br'], ['br;q=0, *', 'gzip'],
    ['identity', undefined], ['gzip;q=0', undefined], ['*;q=0', undefined], ['zstd', undefined], ['identity, gzip;q=0.5', undefined], [undefined, undefined]
  ] as const) {
    it(`is sent as ${encoding ?? 'it is'} for accept-encoding: ${accepted ?? '(none)'}, and varies by it`, async () => {
      const plain = await get('/api/prompts/long')
      const { headers, rawPayload } = await get('/api/prompts/long', accepted)
      assert.deepEqual([headers['content-encoding'], headers['vary']], [encoding, 'accept-encoding'])
      const text = encoding === undefined ? rawPayload : encoding === 'br' ? brotliDecompressSync(rawPayload) : gunzipSync(rawPayload)
      assert.equal(text.toString(), plain.body)
      assert.equal(Number(headers['content-length']), rawPayload.length)
      if (encoding !== undefined) assert.ok(rawPayload.length < plain.body.length / 5)
    })
  }

  it('is compressed as it comes where it is a stream', async () => {
    const { json: { id } } = await (await open()).post('/api/agents/desk/sessions')
    const { headers, rawPayload } = await get(`/api/sessions/${String(id)}/audit`, 'gzip')
    assert.deepEqual([headers['content-encoding'], headers['content-length']], ['gzip', undefined])
    assert.equal(gunzipSync(rawPayload).toString(), (await get(`/api/sessions/${String(id)}/audit`)).body)
  })

  it('is compressed where another part of the service has made it', async () => {
    const { headers, rawPayload } = await get('/openapi.json', 'gzip')
    assert.deepEqual([headers['content-encoding'], Number(headers['content-length'])], ['gzip', rawPayload.length])
    assert.equal(gunzipSync(rawPayload).toString(), (await get('/openapi.json')).body)
  })

  it('is not compressed below 1 KiB', async () => {
    const { headers } = await get('/api/prompts/short', 'gzip')
    assert.deepEqual([headers['content-encoding'], headers['vary']], [undefined, undefined])
  })

  it('has for HEAD the headers of GET', async () => {
    const [head, whole] = [await get('/api/prompts/long', 'gzip', 'HEAD'), await get('/api/prompts/long', 'gzip')]
    const about = (reply: typeof head) => ['content-encoding', 'content-length', 'vary', 'etag'].map(name => reply.headers[name])
    assert.deepEqual(about(head), about(whole))
    assert.equal(head.rawPayload.length, 0)
  })

  it('has a weak ETag when it is compressed, which holds for If-Match and If-None-Match as the strong one does', async () => {
    const [plain, compressed] = [await get('/api/prompts/long'), await get('/api/prompts/long', 'br')]
    assert.equal(compressed.headers.etag, `W/${String(plain.headers.etag)}`)
    const put = async (tag: unknown) => (await (await open()).app.inject({
      method: 'PUT', url: '/api/prompts/long', headers: { 'if-match': String(tag), 'content-type': 'application/json' }, payload: JSON.stringify({ description: 'Of the desk.', userPrompt: TEXT })
    })).statusCode
    assert.deepEqual([await put(compressed.headers.etag), await put(compressed.headers.etag)], [200, 412])
    const described = await get('/api/openapi/prompts.json', 'br')
    const again = await (await open()).app.inject({ url: '/api/openapi/prompts.json', headers: { 'accept-encoding': 'br', 'if-none-match': String(described.headers.etag) } })
    assert.deepEqual([again.statusCode, again.headers.etag, again.headers['content-encoding']], [304, described.headers.etag, undefined])
  })

  it('to a render or a chat is not compressed, as it holds what strangers write beside what they may not read', async () => {
    for (const url of ['/api/render/prompts/long', '/api/chat/prompts/long']) {
      const { statusCode, headers, body } = await (await open()).app.inject({ method: 'POST', url, headers: { 'accept-encoding': 'gzip', 'content-type': 'application/json' }, payload: '{}' })
      assert.deepEqual([statusCode, headers['content-encoding'], body.length > 1024], [200, undefined, true])
    }
  })

  it('to a preview is compressed, since its author writes it all', async () => {
    const { statusCode, headers } = await (await open()).app.inject({
      method: 'POST', url: '/api/prompts/long/preview', headers: { 'accept-encoding': 'gzip', 'content-type': 'application/json' }, payload: JSON.stringify({ prompt: { userPrompt: TEXT } })
    })
    assert.deepEqual([statusCode, headers['content-encoding']], [200, 'gzip'])
  })

  it('about a path that is not there is an error as any', async () => {
    for (const method of ['GET', 'POST'] as const) {
      const { statusCode } = await (await open()).app.inject({ method, url: '/api/nothing', headers: { 'accept-encoding': 'gzip' } })
      assert.equal(statusCode, 404)
    }
  })

  it('of events goes on as it is', async () => {
    const url = await (await open()).listen()
    const leaving = new AbortController()
    const reply = await fetch(`${url}/api/events`, { headers: { 'accept-encoding': 'gzip, br' }, signal: leaving.signal })
    assert.deepEqual([reply.status, reply.headers.get('content-encoding')], [200, null])
    leaving.abort()
  })
})
