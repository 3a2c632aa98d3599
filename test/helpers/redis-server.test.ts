import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type Readable } from 'node:stream'
import { test } from 'node:test'
import { startRedisServer } from './redis-server.ts'
import { waitFor } from './wait-for.ts'

async function listens (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('a Redis that was killed comes back on its port, empty', async t => {
  const redis = await startRedisServer()
  t.after(redis.stop)
  await redis.client.set('a', '1')
  await redis.kill()
  assert.equal(await listens(redis.port), false)
  await redis.restart()
  assert.equal(await redis.client.get('a'), null)
})

test('nothing listens after stop', async () => {
  const redis = await startRedisServer()
  await redis.stop()
  await redis.stop()
  assert.equal(await listens(redis.port), false)
})

test('a frozen Redis can be stopped', async () => {
  const redis = await startRedisServer()
  await redis.pause()
  await redis.stop()
  assert.equal(await listens(redis.port), false)
})

test('Redis ends with the process of the test, even when that is killed', async () => {
  const script = `
    import { startRedisServer } from ${JSON.stringify(new URL('redis-server.ts', import.meta.url).href)}
    const { port } = await startRedisServer()
    console.log(port)
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout as Readable, 'data') as [Buffer]
  const port = Number(line.toString())
  assert.equal(await listens(port), true)
  child.kill('SIGKILL')
  await waitFor('the port to be free', async () => !await listens(port))
})
