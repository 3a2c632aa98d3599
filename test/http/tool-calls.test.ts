import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const symbol = { type: 'restful', method: 'GET', parameters: [{ name: 'symbol', type: 'string' }, { name: 'depth', type: 'integer', default: 1 }] }

describe('POST /api/tools/{id}/call', () => {
  const calls = [
    ['arguments by name', { symbol: 'Run', depth: 2 }, '/echo?symbol=Run&depth=2'],
    ['a list in declared order', ['Run', 3], '/echo?symbol=Run&depth=3'],
    ['defaults for what is left out', ['Run'], '/echo?symbol=Run&depth=1']
  ] as const
  for (const [how, values, url] of calls) {
    it(`takes ${how}`, async t => {
      const server = await startRestfulToolServer(t)
      const { post } = await startService(t, { 'tools:code:find': { ...symbol, url: `${server.origin}/echo` } })
      const { status, json } = await post('/api/tools/code.find/call', { arguments: values })
      assert.deepEqual([status, json['outcome'], json['value']?.['url']], [200, 'ok', url])
      assert.equal(typeof json['durationMs'], 'number')
    })
  }

  for (const body of [undefined, {}, { arguments: null }, { arguments: {} }, { arguments: [] }]) {
    it(`takes ${JSON.stringify(body) ?? 'no body'} for no arguments`, async t => {
      const server = await startRestfulToolServer(t)
      const { post } = await startService(t, { 'tools:x:y': { url: `${server.origin}/text` } })
      assert.equal((await post('/api/tools/x:y/call', body)).json['value'], 'plain "text" – ü')
    })
  }

  const violations = [
    [{ depth: 'deep' }, ['arguments.depth', 'arguments.symbol']],
    [['Run', 1, 'more'], ['arguments[2]']],
    [[7], ['arguments.symbol']]
  ] as const
  for (const [values, paths] of violations) {
    it(`answers 400 with every violation for ${JSON.stringify(values)}, and calls nothing`, async t => {
      const server = await startRestfulToolServer(t)
      const { post, get } = await startService(t, { 'tools:code:find': { ...symbol, url: `${server.origin}/echo` } })
      const { status, json } = await post('/api/tools/code.find/call', { arguments: values })
      assert.deepEqual([status, json['code']], [400, 'ARGUMENTS_INVALID'])
      assert.deepEqual((json['details']?.['violations'] as unknown as Array<{ path: string }>).map(({ path }) => path).sort(), paths)
      assert.equal(server.requests.length, 0)
      assert.equal((await get('/api/tools/code.find')).json['statistics']?.['calls'], 0)
    })
  }

  it('answers 400 for an argument that cannot be part of the URL', async t => {
    const { post } = await startService(t, { 'tools:x:y': { url: 'http://127.0.0.1:1/{path}' } })
    const { status, json } = await post('/api/tools/x.y/call', { arguments: { path: '..' } })
    assert.deepEqual([status, json['code']], [400, 'ARGUMENTS_INVALID'])
    assert.match(String(json['message']), /path segment/)
  })

  for (const body of [{ arguments: 'text' }, { arguments: 5 }, { parameters: {} }, []]) {
    it(`answers 400 for the body ${JSON.stringify(body)}`, async t => {
      const { post } = await startService(t, { 'tools:x:y': { url: 'http://127.0.0.1:1/' } })
      const { status, json } = await post('/api/tools/x.y/call', body)
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    })
  }

  it('answers 404 with near matches for an unknown tool', async t => {
    const { post } = await startService(t, { 'tools:code:find': symbol })
    const { status, json } = await post('/api/tools/code.fin/call', {})
    assert.deepEqual([status, json['code']], [404, 'TOOL_NOT_FOUND'])
  })

  it('answers 409 for an MCP server, which is no function itself', async t => {
    const { post } = await startService(t, { 'tools:mcp:away': { mcp: { url: 'http://127.0.0.1:1/mcp' } } })
    const { status, json } = await post('/api/tools/mcp.away/call', {})
    assert.deepEqual([status, json['code']], [409, 'TOOL_NOT_CALLABLE'])
    assert.match(String(json['message']), /stands for an MCP server, which offers nothing so far/)
  })

  it('tells a failure, and what stands in for it', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, {
      'tools:x:fails': { url: `${server.origin}/500`, default: 'none' },
      'tools:x:nothing': { url: `${server.origin}/500` },
      'tools:x:aborts': { url: `${server.origin}/500`, onError: 'abort' }
    })
    const error = { code: 'STATUS', message: 'answered with status 500: {"error":"broken"}' }
    for (const [id, value] of [['fails', 'none'], ['nothing', null], ['aborts', null]] as const) {
      const { status, json } = await post(`/api/tools/x.${id}/call`, {})
      assert.deepEqual([status, json['outcome'], json['value'], json['error']], [200, 'failed', value, error], id)
    }
  })

  it('keeps every digit of a result', async t => {
    const server = await startRestfulToolServer(t)
    const { app } = await startService(t, { 'tools:x:y': { url: `${server.origin}/big-integer` } })
    assert.match((await app.inject({ method: 'POST', url: '/api/tools/x.y/call' })).body, /"value":\{"id":12345678901234567890\}/)
  })

  it('is under the tool\'s own policy: cache and timeout', async t => {
    const server = await startRestfulToolServer(t)
    const { post } = await startService(t, {
      'tools:x:cached': { url: `${server.origin}/text`, cacheTtl: 60_000 },
      'tools:x:hangs': { url: `${server.origin}/hang`, timeout: 30, default: 'late' }
    })
    await post('/api/tools/x.cached/call', {})
    assert.equal((await post('/api/tools/x.cached/call', {})).json['outcome'], 'cached')
    const { json } = await post('/api/tools/x.hangs/call', {})
    assert.deepEqual([json['value'], json['error']?.['code']], ['late', 'TIMEOUT'])
  })

  it('may take longer than a render', async t => {
    const server = await startRestfulToolServer(t, { '/slow': response => { setTimeout(() => response.end('done'), 60) } })
    const { post } = await startService(t, { 'tools:x:y': { url: `${server.origin}/slow` } }, { RENDER_TIMEOUT_MS: '10' })
    assert.equal((await post('/api/tools/x.y/call', {})).json['outcome'], 'ok')
  })

  it('is given up when its caller leaves', async t => {
    const server = await startRestfulToolServer(t)
    const { app, get } = await startService(t, { 'tools:x:y': { url: `${server.origin}/hang` } })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const leaving = request({ port, host: '127.0.0.1', method: 'POST', path: '/api/tools/x.y/call' })
    leaving.on('error', () => {})
    leaving.end()
    await waitFor('the call to arrive', () => server.requests.length === 1)
    leaving.destroy()
    await waitFor('the tool\'s connection to close', () => server.sockets() === 0)
    const { json } = await get('/api/tools/x.y')
    assert.equal(json['statistics']?.['lastError']?.['code'], 'ABORTED')
  })
})

describe('GET /api/tools/{id}', () => {
  it('shows calls, errors and latency since the start, from templates and by hand', async t => {
    const server = await startRestfulToolServer(t)
    const { post, get } = await startService(t, { 'tools:x:y': { url: `${server.origin}/500` }, 'templates:uses': '{{x_y}}!' })
    assert.deepEqual((await get('/api/tools/x.y')).json['statistics'], { calls: 0, cached: 0, errors: 0 })
    await post('/api/render/prompts/uses')
    await post('/api/tools/x.y/call', {})
    const statistics = (await get('/api/tools/x.y')).json['statistics']
    assert.deepEqual([statistics?.['calls'], statistics?.['errors'], statistics?.['lastError']?.['code']], [2, 2, 'STATUS'])
    assert.ok(Number(statistics?.['latency']?.['p50']) > 0)
  })

  it('shows whether the way to a tool is prepared', async t => {
    const { get } = await startService(t, {
      'tools:x:rest': { url: 'http://127.0.0.1:1/' },
      'tools:x:grpc': { grpc: { url: '127.0.0.1:1', method: 'a.B/C' } },
      'tools:mcp:away': { mcp: { url: 'http://127.0.0.1:1/mcp' } }
    })
    for (const [id, state] of [['x.rest', 'ready'], ['x.grpc', 'failed'], ['mcp.away', 'failed']] as const) {
      await waitFor(`${id} to be ${state}`, async () => (await get(`/api/tools/${id}`)).json['preparation'] as unknown === state)
    }
  })

  it('shows no credential that is written in clear, and all else of the headers', async t => {
    process.env['TOOL_SECRET_CODE'] = 'planted-3'
    t.after(() => delete process.env['TOOL_SECRET_CODE'])
    const shown = { 'x-auth-token': '${secret:CODE}', accept: 'text/plain' } // eslint-disable-line no-template-curly-in-string
    const headers = { Authorization: 'Bearer planted-1', 'X-Api-Key': 'planted-2', ...shown }
    const { app, get } = await startService(t, { 'tools:x:y': { url: 'http://a.example/', headers } }, { TOOL_SECRETS: 'CODE=a.example' })
    assert.deepEqual((await get('/api/tools/x.y')).json['headers'], { Authorization: '[secret]', 'X-Api-Key': '[secret]', ...shown })
    for (const url of ['/api/tools/x.y', '/api/tools?detail=true', '/api/status/entries']) assert.doesNotMatch((await app.inject(url)).body, /planted/)
  })

  it('shows what cannot be stored again by mistake', async t => {
    const { app, store } = await startService(t, { 'tools:x:y': { url: 'http://a.example/', headers: { Cookie: 'planted' } } })
    const shown = await app.inject('/api/tools/x.y')
    const { statusCode } = await app.inject({ method: 'PUT', url: '/api/tools/x.y', payload: shown.body, headers: { 'content-type': 'application/json' } })
    const [stored] = await store.read(['shenma:tools:x:y'])
    assert.equal(statusCode, 400)
    assert.match(stored?.kind === 'text' ? stored.text : '', /planted/)
  })
})
