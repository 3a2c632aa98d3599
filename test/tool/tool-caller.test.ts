import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type LinkedTool } from '../../src/template/template-function.ts'
import { startGrpcToolServer, TRANSLATOR_PROTO } from '../helpers/grpc-tool-server.ts'
import { startMcpToolServer } from '../helpers/mcp-tool-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom, until } from './tool-room.ts'

const signal = new AbortController().signal

describe('a tool caller', () => {
  it('keeps a tool, its statistics and its cache while its definition stays', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const registration = { url: `${server.origin}/echo`, cacheTtl: 60_000 }
    const first = room.register(registration)
    await room.call(first)
    const second = room.register({ ...registration })
    assert.equal(second, first)
    assert.equal((await room.call(second)).outcome, 'cached')
    assert.equal(second.statistics().calls, 2)
  })

  it('makes a new tool when its definition changes', async test => {
    const room = createToolRoom(test)
    const first = room.register({ url: 'http://127.0.0.1:1/' })
    const second = room.register({ url: 'http://127.0.0.1:1/', description: 'other' })
    assert.notEqual(second, first)
  })

  const protocols: readonly [name: string, start: (test: Parameters<typeof createToolRoom>[0]) => Promise<object>, values: Record<string, string>][] = [
    ['restful', async test => ({ url: `${(await startRestfulToolServer(test)).origin}/echo` }), {}],
    ['grpc', async test => ({ grpc: { url: (await startGrpcToolServer(test)).address, method: 'translate.Translator/Translate', proto: TRANSLATOR_PROTO } }), { text: 'x' }],
    ['mcp', async test => ({ mcp: { url: (await startMcpToolServer(test)).url, tool: 'whoami' } }), {}]
  ]
  for (const [name, start, values] of protocols) {
    it(`lets a render go on with a ${name} tool that is gone meanwhile`, async test => {
      const room = createToolRoom(test)
      const definition = room.define(await start(test))
      room.caller.register([definition])
      await room.caller.prepared(10_000)
      const [tool] = room.caller.register([definition])
      assert.ok(tool !== undefined)
      room.caller.register([])
      assert.equal((await room.call(tool, values)).outcome, 'ok')
    })
  }

  it('tells how far each registration is', async test => {
    const room = createToolRoom(test)
    const definitions = [room.define({ url: 'http://127.0.0.1:1/' }, 'one'), room.define({ grpc: { url: '127.0.0.1:1', method: 'a.B/C' } }, 'two'), room.define({ mcp: { url: 'http://127.0.0.1:1/' } }, 'three')]
    room.caller.register(definitions)
    assert.deepEqual([...room.caller.states()], [['one', 'ready'], ['two', 'preparing'], ['three', 'preparing']])
    await room.caller.prepared(10_000)
    assert.deepEqual([...room.caller.states()], [['one', 'ready'], ['two', 'failed'], ['three', 'failed']])
  })

  it('waits for the first attempts no longer than it is told to', async test => {
    const silent = await startRestfulToolServer(test, { '/mcp': () => {} })
    const room = createToolRoom(test)
    room.caller.register([room.define({ mcp: { url: `${silent.origin}/mcp` } })])
    await room.caller.prepared(20)
    assert.deepEqual([...room.caller.states().values()], ['preparing'])
  })

  it('refuses a tool that it has not made', async test => {
    const room = createToolRoom(test)
    const stranger: LinkedTool = { kind: 'tool', id: 'x', name: 'x', mapArguments: () => ({}) }
    assert.throws(() => room.caller.call(stranger, {}, { signal, requestId: '' }), /tool x was never registered here/)
  })

  it('maps arguments as templates give them', test => {
    const room = createToolRoom(test)
    const tool = room.register({ url: 'http://127.0.0.1:1/', parameters: [{ name: 'symbol', type: 'string' }, { name: 'depth', default: 2 }] })
    assert.deepEqual(tool.mapArguments(['x'], {}), { symbol: 'x', depth: 2 })
  })

  it('leaves no socket, timer or process behind when it is closed', { timeout: 30_000 }, async test => {
    const restful = await startRestfulToolServer(test)
    const grpc = await startGrpcToolServer(test)
    const mcp = await startMcpToolServer(test)
    const room = createToolRoom(test)
    const definitions = [
      room.define({ url: `${restful.origin}/hang` }, 'one'),
      room.define({ grpc: { url: grpc.address, method: 'translate.Translator/Hang', proto: TRANSLATOR_PROTO } }, 'two'),
      room.define({ mcp: { url: mcp.url } }, 'mcp.changing')
    ]
    room.caller.register(definitions)
    await room.caller.prepared(10_000)
    const leaving = new AbortController()
    const calls = room.caller.register(definitions).map(tool => room.caller.call(tool, {}, { signal: leaving.signal, requestId: '' }))
    await until(() => grpc.hanging() === 1 && restful.requests.length === 1)
    leaving.abort()
    await Promise.all(calls)
    await room.caller.close()
    await until(() => restful.sockets() === 0)
    grpc.stop()
    await mcp.stop()
    await until(() => !process.getActiveResourcesInfo().includes('TCPSocketWrap'))
    assert.deepEqual(process.getActiveResourcesInfo().filter(resource => resource === 'Timeout' || resource === 'ProcessWrap'), [])
  })
})
