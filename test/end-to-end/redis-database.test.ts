import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createRedisCounters } from '../../src/store/redis/redis-counters.ts'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { StoreError } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { startRedisSentinel } from '../helpers/redis-sentinel.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { type Readiness } from '../helpers/redis-service.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const KEY = 'shenma:templates:ask'
const SILENT = quietLog()

/** What docs/stores.md asks for where PUT and DELETE are used and tokens have limits, without `+select`. */
const RIGHTS = '~shenma:* +scan +getrange +pttl +strlen +type +exists +info +ping +client +subscribe &__redis__:invalidate +eval +get +set +del +hget +hset +hvals +pexpire'

/** A Redis with an entry in database 0, and what its URLs with a database that cannot be selected are refused with. */
async function openRedis (t: TestContext): Promise<{ redis: RedisServer, refusals: ReadonlyArray<readonly [url: string, reason: string]> }> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  await redis.client.set(KEY, 'of database 0')
  await redis.client.call('ACL', 'SETUSER', 'publisher', 'on', '>secret', ...RIGHTS.split(' '))
  const at = `127.0.0.1:${redis.port}`
  return {
    redis,
    refusals: [
      [`redis://${at}/99`, `Redis at ${at} has no database 99`],
      [`redis://publisher:secret@${at}/1`, `Redis at ${at} does not let this user select database 1`]
    ]
  }
}

/** Asks while the connection shakes hands, and after: each answer to another client lets it come further. */
async function inEveryState (redis: RedisServer, ask: () => Promise<void>): Promise<void> {
  for (let times = 0; times < 5; times++) {
    await ask()
    await redis.client.ping()
  }
}

describe('a database of Redis that cannot be selected', () => {
  it('is a problem of readiness, and database 0 is neither served nor changed', async t => {
    const { redis, refusals } = await openRedis(t)
    for (const [url, reason] of refusals) {
      const app = await createApp(loadConfig({ REDIS_URL: url }), pino({ level: 'silent' }))
      t.after(() => app.close())
      const readyz = await app.inject('/readyz')
      const { store } = readyz.json<Readiness>()
      assert.deepEqual([readyz.statusCode, store.connected, store.problem], [503, false, reason])
      for (const method of ['PUT', 'DELETE'] as const) {
        const reply = await app.inject({ method, url: '/api/prompts/ask', ...(method === 'PUT' ? { headers: { 'content-type': 'text/plain' }, payload: 'new' } : {}) })
        assert.deepEqual([reply.statusCode, reply.json<{ code: string }>().code], [503, 'STORE_UNAVAILABLE'])
      }
      assert.equal(await redis.client.get(KEY), 'of database 0')
    }
  })

  it('keeps tokens from being counted in database 0', async t => {
    const { redis, refusals } = await openRedis(t)
    for (const [url] of refusals) {
      const counters = createRedisCounters({ url, log: SILENT })
      t.after(() => counters.close())
      await inEveryState(redis, async () => assert.deepEqual(await counters.report(new Map([['shenma:rates:a', 1]]), 60_000), new Map()))
    }
    assert.deepEqual(await redis.client.keys('*'), [KEY])
  })

  it('is used as soon as the user may select it, without a new connection', async t => {
    const { redis, refusals: [, [url] = ['']] } = await openRedis(t)
    const store = createRedisStore({ keys: storeKeys(), url, log: SILENT })
    t.after(() => store.close())
    await assert.rejects(listAll(store, 'shenma:'), StoreError)
    await redis.client.call('ACL', 'SETUSER', 'publisher', '+select')
    assert.deepEqual(await listAll(store, 'shenma:'), [])
    assert.equal(await store.write('shenma:tools:a', '1'), 'created')
    assert.deepEqual([store.status().connected, await redis.client.exists('shenma:tools:a')], [true, 0])
  })

  it('is not served either when the right to it is lost and the connection with it', async t => {
    const { redis, refusals: [, [url, reason] = ['', '']] } = await openRedis(t)
    await redis.client.call('ACL', 'SETUSER', 'publisher', '+select')
    const store = createRedisStore({ keys: storeKeys(), url, log: SILENT })
    t.after(() => store.close())
    await waitFor('the store to be connected', () => store.status().connected)
    await redis.client.call('ACL', 'SETUSER', 'publisher', '-select')
    await redis.client.call('CLIENT', 'KILL', 'USER', 'publisher')
    await waitFor('the refusal', () => store.status().problem === reason)
    await inEveryState(redis, () => assert.rejects(store.remove(KEY), new StoreError(reason)))
    assert.equal(await redis.client.exists(KEY), 1)
  })

  it('is refused behind Sentinels too', async t => {
    const servers = await startRedisSentinel()
    t.after(servers.stop)
    await servers.master.client.set(KEY, 'of database 0')
    const store = createRedisStore({ keys: storeKeys(), url: `${servers.url}/99`, log: SILENT })
    t.after(() => store.close())
    await waitFor('the refusal', () => store.status().problem?.endsWith('has no database 99'))
    await assert.rejects(store.remove(KEY), /has no database 99$/)
    assert.equal(await servers.master.client.get(KEY), 'of database 0')
  })
})
