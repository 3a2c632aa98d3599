import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { watchSentinels } from '../../src/store/redis/redis-connection.ts'
import { waitFor } from '../helpers/wait-for.ts'

interface FakeSentinel { readonly port: number, readonly asked: number, master: string }

/** Names a master, by host and port of two characters each, and says OK to all else. */
async function startFakeSentinel (t: TestContext): Promise<FakeSentinel> {
  const sentinel = { port: 0, asked: 0, master: 'm1:01' }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('data', data => {
      for (const command of data.toString().split(/(?=\*\d+\r\n\$)/)) {
        const isAsked = /get-master-addr-by-name/i.test(command)
        if (isAsked) sentinel.asked++
        socket.write(isAsked ? `*2${sentinel.master.split(':').map(part => `\r\n$2\r\n${part}`).join('')}\r\n` : '+OK\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  sentinel.port = (server.address() as AddressInfo).port
  return sentinel
}

describe('Who watches Sentinels', () => {
  it('hears of a failover that comes before the first heartbeat', async t => {
    const sentinel = await startFakeSentinel(t)
    t.mock.timers.enable({ apis: ['setInterval'] })
    const target = { address: 'mymaster', options: { name: 'mymaster', sentinels: [{ host: '127.0.0.1', port: sentinel.port }] }, secrets: [] }
    let moves = 0
    const watch = watchSentinels(target, {}, () => { moves++ })
    t.after(() => watch.close())
    await waitFor('the Sentinel to be asked', () => sentinel.asked === 1)
    sentinel.master = 'm2:02'
    t.mock.timers.tick(1000)
    await waitFor('the move to be told', () => moves === 1)
    assert.equal(sentinel.asked, 2)
  })
})
