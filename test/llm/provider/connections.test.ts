import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Client } from 'undici'
import { Connections } from '../../../src/llm/exchange.ts'
import { type Answer, startUpstream } from '../../helpers/upstream-server.ts'
import { undici } from '../../../src/runtime/http-modules.ts'

async function open (t: TestContext, answer: Answer = (_hit, response) => response.end('ok')) {
  const upstream = await startUpstream(answer)
  const connections = new Connections(new URL(upstream.baseUrl).origin, 1000)
  t.after(async () => {
    await upstream.close()
    await connections.close()
  })
  return { upstream, connections }
}

async function use (client: Client): Promise<string> {
  return await (await undici.request().call(client, { method: 'POST', path: '/' })).body.text()
}

describe('Connections', () => {
  it('gives the last connection that was released', async t => {
    const { connections } = await open(t)
    const [first, second] = [connections.acquire(), connections.acquire()]
    connections.release(first)
    connections.release(second)
    assert.equal(connections.acquire(), second)
    assert.equal(connections.acquire(), first)
  })

  it('forgets a connection that the upstream has closed', async t => {
    const { upstream, connections } = await open(t)
    const client = connections.acquire()
    await use(client)
    connections.release(client)
    const disconnected = new Promise(resolve => client.once('disconnect', resolve))
    for (const socket of upstream.sockets) socket.destroy()
    await disconnected
    assert.notEqual(connections.acquire(), client)
  })

  it('leaves no socket behind for a connection that is destroyed', { timeout: 30_000 }, async t => {
    const { upstream, connections } = await open(t, () => connections.destroy(client))
    const client = connections.acquire()
    await assert.rejects(use(client))
    await upstream.allClosed()
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(upstream.sockets.size, 0)
  })

  it('gives no connection once it is closed', async t => {
    const { connections } = await open(t)
    await connections.close()
    assert.throws(() => connections.acquire(), { message: 'the service is shutting down', retryable: false })
  })
})
