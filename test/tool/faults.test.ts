import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { NOTHING } from '../../src/template/value.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom, until } from './tool-room.ts'

/** Everything that a tool's server can do wrong, and how it is told. */
const FAULTS: readonly [path: string, code: string, message: RegExp, extra?: object][] = [
  ['/hang', 'TIMEOUT', /^took longer than 50 ms$/, { timeout: 50 }],
  ['/hang-after-headers', 'TIMEOUT', /^took longer than 50 ms$/, { timeout: 50 }],
  ['/drip', 'TIMEOUT', /^took longer than 50 ms$/, { timeout: 50 }],
  ['/endless', 'REPLY_TOO_LARGE', /too large/],
  ['/too-long', 'REPLY_TOO_LARGE', /too large/],
  ['/bomb', 'REPLY_INVALID', /compressed reply \(gzip\)/],
  ['/reset', 'UNREACHABLE', /could not be reached: (UND_ERR_SOCKET|ECONNRESET)/],
  ['/reset-in-body', 'UNREACHABLE', /could not be reached: (UND_ERR_SOCKET|ECONNRESET)/],
  ['/not-http', 'UNREACHABLE', /does not match the HTTP\/1.1 protocol/],
  ['/bad-json', 'REPLY_INVALID', /broken JSON/],
  ['/deep-json', 'REPLY_INVALID', /broken JSON at line 1, column 101/],
  ['/bad-utf8', 'REPLY_INVALID', /not valid utf-8/],
  ['/html', 'REPLY_INVALID', /type "text\/html"/],
  ['/image', 'REPLY_INVALID', /type "image\/png"/],
  ['/404', 'STATUS', /status 404/],
  ['/500', 'STATUS', /status 500/],
  ['/503', 'STATUS', /status 503/],
  ['/redirect', 'STATUS', /redirect \(302\)/],
  ['/huge-headers', 'UNREACHABLE', /UND_ERR_HEADERS_OVERFLOW/]
]

describe('a restful tool that goes wrong', () => {
  for (const [path, code, message, extra] of FAULTS) {
    it(`gives its default and ${code} for ${path}, and leaves no connection`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      const tool = room.register({ url: server.origin + path, default: { from: 'registration' }, ...extra })
      const { value, outcome, error } = await room.call(tool)
      assert.deepEqual([outcome, value, error?.code], ['failed', { from: 'registration' }, code])
      assert.match(error?.message ?? '', message)
      await room.caller.close()
      await until(() => server.sockets() === 0)
    })
  }

  it('gives nothing when nobody listens', async test => {
    const room = createToolRoom(test)
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    await new Promise(resolve => server.close(resolve))
    const { value, error } = await room.call(room.register({ url: `http://127.0.0.1:${port}/` }))
    assert.deepEqual([value, error?.message], [NOTHING, 'could not be reached: ECONNREFUSED'])
  })

  it('logs the failure with the request id and without the arguments', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await room.call(room.register({ url: `${server.origin}/500` }), { text: 'private' })
    const [{ durationMs, ...fields }] = room.warnings as [{ durationMs: number }]
    assert.deepEqual(fields, { tool: 'test.tool', requestId: 'request-1', code: 'STATUS', reason: 'answered with status 500' })
    assert.ok(durationMs > 0)
  })

  it('leaves no socket, timer or pending promise after 1,000 calls', { timeout: 60_000 }, async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const paths = ['/hang', '/drip', '/500', '/reset', '/bad-json', '/endless', '/hang-after-headers', '/echo']
    const tools = room.caller.register(paths.map(path => room.define({ url: server.origin + path, timeout: /hang|drip/.test(path) ? 30 : 600_000, breaker: false, concurrency: 50 }, `test${path.replaceAll(/\W/g, '.')}`)))
    const deadline = new AbortController()
    const calls = Array.from({ length: 1000 }, (_call, index) => {
      const tool = tools[index % tools.length] as typeof tools[number]
      return room.caller.call(tool, { index }, { signal: deadline.signal, requestId: String(index) })
    })
    const outcomes = await Promise.all(calls)
    assert.equal(outcomes.length, 1000)
    await room.caller.close()
    await until(() => server.sockets() === 0)
    await until(() => !process.getActiveResourcesInfo().includes('TCPSocketWrap'))
    assert.deepEqual(process.getActiveResourcesInfo().filter(resource => resource === 'Timeout'), [])
  })

  it('ends when its caller leaves, and closes the connection', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const leaving = new AbortController()
    const call = room.call(room.register({ url: `${server.origin}/hang` }), {}, leaving.signal)
    await until(() => server.requests.length === 1)
    leaving.abort()
    assert.equal((await call).error?.code, 'ABORTED')
    await until(() => server.sockets() === 0)
  })

  it('counts the end of the render\'s time as the tool\'s failure', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ url: `${server.origin}/hang` }), {}, AbortSignal.timeout(20))
    assert.equal(error?.code, 'TIMEOUT')
  })
})
