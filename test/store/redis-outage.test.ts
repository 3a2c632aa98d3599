import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { StoreError, type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { freePort } from '../helpers/free-port.ts'
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

const TIMEOUT = 200

async function open (t: TestContext): Promise<{ redis: RedisServer, store: Store }> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  const store = createRedisStore({ keys: storeKeys(), url: redis.url, commandTimeout: TIMEOUT })
  t.after(() => store.close())
  await waitFor('the store to be connected', () => store.status().connected)
  return { redis, store }
}

async function isConnected (store: Store): Promise<boolean> {
  return store.status().connected && (await listAll(store, '')).length >= 0
}

/** What the store lists, once a question is answered in time: on a busy machine `TIMEOUT` may pass with Redis in the best of health. */
function listed (store: Store): Promise<readonly string[]> {
  return waitFor('an answer', () => listAll(store, 'shenma:'))
}

describe('Redis store, outages', () => {
  test('opens while Redis is absent, says why, and connects when it comes', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    await redis.client.set('shenma:tools:a', '1')
    await redis.kill()
    const store = createRedisStore({ keys: storeKeys(), url: redis.url })
    t.after(() => store.close())
    await waitFor('the first refusal', () => store.status().problem?.includes('refuses'))
    assert.equal(store.status().connected, false)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`Redis at 127.0.0.1:${redis.port} refuses the connection`))
    await assert.rejects(store.read(['shenma:tools:a']), new StoreError(`Redis at 127.0.0.1:${redis.port} refuses the connection`))
    await redis.restart()
    await waitFor('the store to connect', () => isConnected(store))
    await waitFor('changes to be pushed', () => store.status().changes === 'pushed')
    assert.deepEqual(store.status(), { connected: true, changes: 'pushed' })
  })

  test('says that Redis takes no more clients, and connects when it does', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    await redis.client.config('SET', 'maxclients', 1)
    const store = createRedisStore({ keys: storeKeys(), url: redis.url })
    t.after(() => store.close())
    await waitFor('the first refusal', () => store.status().problem === `Redis at 127.0.0.1:${redis.port} has too many clients`)
    await redis.client.config('SET', 'maxclients', 100)
    await waitFor('the store to connect', () => isConnected(store))
    await waitFor('changes to be pushed', () => store.status().changes === 'pushed')
  })

  test('fails when Redis is killed, and works after it has started again', async t => {
    const { redis, store } = await open(t)
    await redis.kill()
    await assert.rejects(listAll(store, 'shenma:'), StoreError)
    await assert.rejects(store.read(['shenma:tools:a']), StoreError)
    assert.equal(store.status().connected, false)
    await redis.restart()
    await redis.client.set('shenma:tools:a', '1')
    await waitFor('the store to connect', () => isConnected(store))
    assert.deepEqual(await listed(store), ['shenma:tools:a'])
  })

  test('fails questions that are under way when Redis is killed', async t => {
    const { redis, store } = await open(t)
    await redis.pause()
    const questions = Promise.allSettled([listAll(store, 'shenma:'), store.read(['shenma:tools:a'])])
    await redis.kill()
    for (const { status } of await questions) assert.equal(status, 'rejected')
  })

  test('tells watchers that anything may have changed after every reconnect', async t => {
    const { redis, store } = await open(t)
    await waitFor('changes to be pushed', () => store.status().changes === 'pushed')
    const told: unknown[] = []
    await store.watch(keys => { told.push(keys) })
    for (let times = 0; times < 2; times++) {
      await redis.kill()
      await waitFor('the loss to be told', () => store.status().changes === 'polled' && told.length > 0)
      told.length = 0
      await redis.restart()
      await waitFor('the return to be told', () => store.status().changes === 'pushed' && told.length > 0)
      assert.equal(told.at(-1), undefined)
      told.length = 0
    }
  })

  test('fails while Redis is frozen, and works after it goes on', async t => {
    const { redis, store } = await open(t)
    await redis.pause()
    const frozen = new StoreError(`Redis at 127.0.0.1:${redis.port} does not answer in time`)
    await assert.rejects(listAll(store, 'shenma:'), frozen)
    await assert.rejects(store.read(['shenma:tools:a']), frozen)
    assert.deepEqual(store.status(), { connected: false, changes: 'polled', problem: frozen.message })
    await redis.resume()
    await waitFor('the store to work', () => isConnected(store))
  })

  test('works again by itself after a freeze that lasted many timeouts', async t => {
    const { redis, store } = await open(t)
    await redis.pause()
    let failures = 0
    await waitFor('ten failures', async () => {
      await listAll(store, 'shenma:').catch(() => { failures++ })
      return failures >= 10
    })
    await redis.resume()
    await waitFor('the store to be connected, though nobody asks it', () => store.status().connected)
    assert.deepEqual(await listed(store), [])
  })

  test('closes within a bound while Redis is frozen', async t => {
    const { redis, store } = await open(t)
    await redis.pause()
    let isClosed = false
    store.close().then(() => { isClosed = true }, assert.ifError)
    await waitFor('the end of close()', () => isClosed, 5000)
  })

  test('closes while Redis is absent', async () => {
    const store = createRedisStore({ keys: storeKeys(), url: `redis://127.0.0.1:${await freePort()}` })
    await store.close()
    await assert.rejects(listAll(store, ''), new StoreError('the store is closed'))
  })

  test('says that Redis is loading while it is, and lists everything after', async t => {
    const redis = await startRedisServer({ settings: ['--key-load-delay', '0', '--enable-debug-command', 'yes'] })
    t.after(redis.stop)
    for (let index = 0; index < 500; index++) await redis.client.set(`shenma:environs:m:${index}`, 'x')
    await redis.client.config('SET', 'key-load-delay', '2000', 'loading-process-events-interval-bytes', '1024')
    const loading = redis.client.call('DEBUG', 'RELOAD').catch(() => {})
    const store = createRedisStore({ keys: storeKeys(), url: redis.url })
    t.after(() => store.close())
    await waitFor('the notice', () => store.status().problem === `Redis at 127.0.0.1:${redis.port} is still loading its data`)
    await assert.rejects(listAll(store, 'shenma:'), new StoreError(`Redis at 127.0.0.1:${redis.port} is still loading its data`))
    await loading
    await waitFor('the store to be connected', () => store.status().connected)
    assert.equal((await listAll(store, 'shenma:')).length, 500)
  })
})
