import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store } from '../../src/store/store.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

describe('a write into Redis', () => {
  let redis: RedisServer
  let store: Store

  before(async () => {
    redis = await startRedisServer()
    store = createRedisStore({ keys: storeKeys(), url: redis.url })
    await waitFor('the store to be connected', () => store.status().connected)
  })
  beforeEach(() => redis.client.flushall())
  after(async () => {
    await store.close()
    await redis.stop()
  })

  it('replaces a value of another type, when nothing is expected', async () => {
    await redis.client.lpush('shenma:tools:a', 'x')
    assert.equal(await store.write('shenma:tools:a', '1', { kind: 'missing' }), 'conflict')
    assert.equal(await store.write('shenma:tools:a', '1', { kind: 'text', text: 'x' }), 'conflict')
    assert.equal(await store.write('shenma:tools:a', '1'), 'replaced')
    assert.equal(await redis.client.get('shenma:tools:a'), '1')
  })

  it('ends the life that the value had', async () => {
    await redis.client.set('shenma:environs:a', '1', 'EX', 1000)
    await store.write('shenma:environs:a', '2')
    assert.equal(await redis.client.ttl('shenma:environs:a'), -1)
  })

  it('loses no increment of 20 writers beside a writer that asks nobody', async () => {
    await redis.client.set('shenma:environs:count', '0')
    const add = async () => {
      for (;;) {
        const [known] = await store.read(['shenma:environs:count'])
        if (known?.kind !== 'text') throw new Error('the count is gone')
        if (await store.write('shenma:environs:count', `${Number(known.text) + 1}`, known) === 'replaced') return
      }
    }
    const byOthers = async () => {
      for (let count = 0; count < 50; count++) await redis.client.incr('shenma:environs:count')
    }
    await Promise.all([byOthers(), ...Array.from({ length: 20 }, add)])
    assert.equal(await redis.client.get('shenma:environs:count'), '70')
  })

  it('says that a user may not write, and goes on reading', async t => {
    await redis.client.set('shenma:tools:a', '1')
    await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>pass', '~shenma:*', '&*', '+@read', '+@connection', '+info', '+eval')
    const reader = createRedisStore({ keys: storeKeys(), url: redis.url.replace('redis://', 'redis://reader:pass@') })
    t.after(() => reader.close())
    await waitFor('the store to be connected', () => reader.status().connected)
    assert.equal(await reader.write('shenma:tools:a', '2'), 'read-only')
    assert.equal(await reader.remove('shenma:tools:a'), 'read-only')
    assert.deepEqual(await reader.read(['shenma:tools:a']), [{ kind: 'text', text: '1' }])
    assert.equal(reader.status().problem, undefined)
  })

  for (const [what, command, outcome] of [
    ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], { kind: 'refused', reason: 'Redis has reached its maxmemory' }],
    ['has too few replicas', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], { kind: 'refused', reason: 'Redis has too few replicas that are in step with it' }],
    ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], 'read-only']
  ] as const) {
    it(`is refused by a Redis that ${what}, which goes on being read`, async t => {
      const own = await startRedisServer()
      t.after(own.stop)
      await own.client.set('shenma:tools:a', '1')
      const writer = createRedisStore({ keys: storeKeys(), url: own.url })
      t.after(() => writer.close())
      await waitFor('the store to be connected', () => writer.status().connected)
      const [name, ...words] = command
      await own.client.call(name, ...words)
      assert.deepEqual(await writer.write('shenma:tools:a', '2'), outcome)
      assert.equal(writer.status().connected, true)
      assert.deepEqual(await writer.read(['shenma:tools:a']), [{ kind: 'text', text: '1' }])
    })
  }

  for (const [what, command] of [['scripts', 'EVAL'], ['writes', 'SET']] as const) {
    it(`is refused by a Redis without ${what}, which goes on being read`, async t => {
      const own = await startRedisServer({ settings: ['--rename-command', command, ''] })
      t.after(own.stop)
      const writer = createRedisStore({ keys: storeKeys(), url: own.url })
      t.after(() => writer.close())
      await waitFor('the store to be connected', () => writer.status().connected)
      assert.equal(await writer.write('shenma:tools:a', '2'), 'read-only')
      assert.equal(writer.status().problem, undefined)
      assert.deepEqual(await writer.read(['shenma:tools:a']), [{ kind: 'missing' }])
    })
  }

  it('says that a user may not run scripts', async t => {
    await redis.client.call('ACL', 'SETUSER', 'plain', 'on', '>pass', '~shenma:*', '+@read', '+@connection', '+info', '+set')
    const plain = createRedisStore({ keys: storeKeys(), url: redis.url.replace('redis://', 'redis://plain:pass@') })
    t.after(() => plain.close())
    await waitFor('the store to be connected', () => plain.status().connected)
    assert.equal(await plain.write('shenma:tools:a', '2'), 'read-only')
  })
})
