import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { listen } from '../../src/http/base/listen.ts'
import { freePort } from '../helpers/free-port.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Whether Node shares a port among sockets: https://nodejs.org/api/net.html#serverlistenoptions-callback */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const canShare = process.platform === 'linux' && (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12))

async function listening (t: TestContext, place = { host: '127.0.0.1', port: 0 }, sockets?: number) {
  const { app } = await startService(t, {})
  await listen(app, place, sockets)
  return { app, port: (app.server.address() as AddressInfo).port }
}

describe('listening', () => {
  it('answers over every connection, whichever socket took it', async t => {
    const { port } = await listening(t)
    const statuses = await Promise.all(Array.from({ length: 32 }, () => statusOf(port)))
    assert.deepEqual(new Set(statuses), new Set(['200']))
  })

  it('takes one socket where it is told to', async t => {
    const { port } = await listening(t, undefined, 1)
    assert.equal(await statusOf(port), '200')
  })

  it('says EADDRINUSE at a port where another program listens', async t => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    t.after(() => { other.close() })
    await assert.rejects(listening(t, { host: '127.0.0.1', port: (other.address() as AddressInfo).port }), { code: 'EADDRINUSE' })
  })

  it('says EADDRINUSE at a port where a service of ours listens', async t => {
    const { port } = await listening(t)
    await assert.rejects(listening(t, { host: '127.0.0.1', port }), { code: 'EADDRINUSE' })
  })

  it('listens at a port that is given', async t => {
    const port = await freePort()
    await listening(t, { host: '127.0.0.1', port })
    assert.equal(await statusOf(port), '200')
  })

  it('is closed at every socket as soon as the drain begins, and waits for connections of all', { skip: !canShare }, async t => {
    const { app, port } = await listening(t, undefined, 4)
    const busy = await Promise.all(Array.from({ length: 16 }, () => open(port)))
    // Half of a request: the server waits for the rest.
    for (const socket of busy) socket.write('POST /api/render/prompts/none HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{')
    await Promise.all(Array.from({ length: 8 }, () => statusOf(port)))
    let isClosed = false
    const closed = app.close().then(() => { isClosed = true })
    const answers = busy.map(async socket => {
      const [reply] = await once(socket, 'data') as [Buffer]
      return reply.toString('latin1', 9, 12)
    })
    await waitFor('closed sockets', async () => await isRefused(port) || undefined)
    assert.equal(isClosed, false)
    for (const socket of busy) socket.write('}')
    assert.deepEqual(new Set(await Promise.all(answers)), new Set(['404']))
    await closed
  })
})

async function isRefused (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const refused = await once(socket, 'connect').then(() => false, ({ code }: NodeJS.ErrnoException) => code === 'ECONNREFUSED')
  socket.on('error', () => {}).destroy()
  return refused
}

async function open (port: number) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function statusOf (port: number): Promise<string> {
  const socket = await open(port)
  socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')
  const [reply] = await once(socket, 'data') as [Buffer]
  socket.destroy()
  return reply.toString('latin1', 9, 12)
}
