import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { MAX_VALUE_BYTES, StoreError, type Store } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const PASSWORD = 'p@ss:w/rd%?#'

const WRONG_TYPES: readonly [string, readonly string[]][] = [
  ['list', ['RPUSH', 'a', '1']],
  ['hash', ['HSET', 'a', 'f', '1']],
  ['set', ['SADD', 'a', '1']],
  ['zset', ['ZADD', 'a', '1', 'm']],
  ['stream', ['XADD', 'a', '*', 'f', '1']]
]

describe('Redis store', () => {
  let redis: RedisServer
  let store: Store

  before(async () => {
    redis = await startRedisServer({ password: PASSWORD })
    store = createRedisStore({ keys: storeKeys(), url: redis.url })
    await waitFor('the store to be connected', () => store.status().connected)
  })
  beforeEach(() => redis.client.flushall())
  after(async () => {
    await store.close()
    await redis.stop()
  })

  /** How many commands Redis ran meanwhile, by name, and how many times the store waited for answers. */
  async function count (action: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
    await redis.client.config('RESETSTAT')
    await action()
    const lines = (await redis.client.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)
    return new Map([...lines].map(([, name, calls]) => [name as string, Number(calls)]))
  }

  for (const [type, command] of WRONG_TYPES) {
    test(`gives a ${type} as bad, by name`, async () => {
      await redis.client.call(...command as [string, ...string[]])
      assert.deepEqual(await listAll(store, 'a'), ['a'])
      assert.deepEqual(await store.read(['a']), [{ kind: 'bad', reason: `is a Redis ${type}; a string is needed` }])
    })
  }

  test('gives what is no string as bad without its type, where Redis has no TYPE', async t => {
    const own = await startRedisServer({ settings: ['--rename-command', 'TYPE', ''] })
    t.after(own.stop)
    const reader = createRedisStore({ keys: storeKeys(), url: own.url })
    t.after(() => reader.close())
    await waitFor('the store to be connected', () => reader.status().connected)
    await own.client.hset('a', 'f', '1')
    await own.client.set('b', '1')
    assert.deepEqual(await reader.read(['a', 'b']), [{ kind: 'bad', reason: 'is a Redis key of another type; a string is needed' }, { kind: 'text', text: '1' }])
  })

  test('knows when a value expires', async () => {
    const earliest = Date.now() + 50_000
    await redis.client.set('a', '1', 'PX', 60_000)
    const [value] = await store.read(['a'])
    assert.ok(value?.kind === 'text' && value.expiresAt !== undefined && value.expiresAt > earliest && value.expiresAt <= Date.now() + 60_000)
  })

  test('gives a miss after a value has expired', async () => {
    await redis.client.set('a', '1', 'PX', 1)
    await waitFor('the end of the value', async () => (await store.read(['a']))[0]?.kind === 'missing')
    assert.deepEqual(await listAll(store, 'a'), [])
  })

  test('never fetches a value over the limit', async () => {
    await redis.client.set('a', Buffer.alloc(50 * MAX_VALUE_BYTES, 'a'))
    const before = await outputBytes()
    await store.read(['a'])
    assert.ok(await outputBytes() - before < MAX_VALUE_BYTES)

    async function outputBytes (): Promise<number> {
      return Number(/^total_net_output_bytes:(\d+)/m.exec(await redis.client.info('stats'))?.[1])
    }
  })

  test('reads 1,200 keys with two commands each and no others', async () => {
    const keys = Array.from({ length: 1200 }, (_, index) => `k${index}`)
    await redis.client.mset(keys.flatMap(key => [key, key]))
    const calls = await count(() => store.read(keys))
    assert.deepEqual([calls.get('getrange'), calls.get('pttl'), calls.get('strlen'), calls.get('type')], [1200, 1200, undefined, undefined])
  })

  test('never uses KEYS', async () => {
    await redis.client.mset(Array.from({ length: 5000 }, (_, index) => [`k${index}`, '']).flat())
    const calls = await count(() => listAll(store, 'k'))
    assert.ok((calls.get('scan') ?? 0) > 1)
    assert.equal(calls.get('keys'), undefined)
  })

  test('leaves out names that are not UTF-8, and tells the log when their number changes', async t => {
    const warnings: string[] = []
    const warned = createRedisStore({ keys: storeKeys(), url: redis.url, log: quietLog({ warn: (_fields: unknown, message?: string) => { warnings.push(message ?? '') } }) })
    t.after(() => warned.close())
    await redis.client.set('ab', '1')
    for (const last of [0xff, 0xfe]) {
      await redis.client.set(Buffer.from([0x61, last]), '1')
      for (let times = 0; times < 2; times++) assert.deepEqual(await listAll(warned, 'a'), ['ab'])
    }
    assert.deepEqual(warnings, [1, 2].map(count => `keys with names that are not UTF-8 are left out: ${count}`))
  })

  test('uses the database of the URL', async t => {
    const other = createRedisStore({ keys: storeKeys(), url: `${redis.url}/3` })
    t.after(() => other.close())
    await redis.client.multi().select(3).set('a', '1').select(0).exec()
    await waitFor('the store to be connected', () => other.status().connected)
    assert.deepEqual([await listAll(store, ''), await listAll(other, '')], [[], ['a']])
  })

  test('gives a key that its user may not read as bad, and the others as they are', async t => {
    await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>pass', '+@all', '~shenma:*')
    await redis.client.mset('shenma:a', '1', 'other', '2')
    const restricted = createRedisStore({ keys: storeKeys(), url: `redis://reader:pass@127.0.0.1:${redis.port}` })
    t.after(() => restricted.close())
    await waitFor('the store to be connected', () => restricted.status().connected)
    assert.deepEqual(await restricted.read(['shenma:a', 'other']), [
      { kind: 'text', text: '1' }, { kind: 'bad', reason: 'may not be read by this Redis user', isWithheld: true }
    ])
  })

  for (const [title, login, meaning] of [
    ['a wrong password', ':wrong-secret@', 'refuses the user name or password'],
    ['an unknown user', 'nobody:wrong-secret@', 'refuses the user name or password'],
    ['no password', '', 'asks for a password, and the Redis URL has none']
  ] as const) {
    test(`says what is wrong with ${title}, without showing it`, async t => {
      const refused = createRedisStore({ keys: storeKeys(), url: `redis://${login}127.0.0.1:${redis.port}` })
      t.after(() => refused.close())
      const problem = `Redis at 127.0.0.1:${redis.port} ${meaning}`
      await waitFor('the notice', () => refused.status().problem === problem)
      await assert.rejects(listAll(refused, ''), new StoreError(problem))
    })
  }

  test('refuses to list a node of a cluster, which holds a part of the keys only', async t => {
    const node = await startRedisServer({ settings: ['--cluster-enabled', 'yes'] })
    t.after(node.stop)
    const single = createRedisStore({ keys: storeKeys(), url: node.url })
    t.after(() => single.close())
    await waitFor('the store to be connected', () => single.status().connected)
    await assert.rejects(listAll(single, ''), new StoreError(`Redis at 127.0.0.1:${node.port} is a node of a Redis Cluster and holds only a part of the keys; name it as redis+cluster://`))
  })
})
