import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store } from '../../src/store/store.ts'
import { startRedisServer, type RedisServer } from '../helpers/redis-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { quietLog } from '../helpers/quiet-log.ts'

interface Opened {
  readonly redis: RedisServer
  readonly store: Store
  /** Every key told so far; `*` for "anything". */
  readonly told: Set<string>
  readonly log: string[]
}

const LISTENERS = ['CLIENT', 'KILL', 'TYPE', 'pubsub'] as const
const OTHERS = ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'] as const

/** A store over a Redis of its own, watched, with its changes pushed or refused. */
async function open (t: TestContext, { user = '' } = {}): Promise<Opened> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  if (user !== '') await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>pass', ...user.split(' '))
  const log: string[] = []
  const note = (_fields: unknown, message?: string) => { log.push(message ?? '') }
  const store = createRedisStore({ keys: storeKeys(), url: user === '' ? redis.url : `redis://reader:pass@127.0.0.1:${redis.port}`, commandTimeout: 500, log: quietLog({ info: note, warn: note }) })
  t.after(() => store.close())
  const told = new Set<string>()
  await store.watch(keys => { for (const key of keys ?? ['*']) told.add(key) })
  await waitFor('the way of changes to be known', () => log.some(line => line.startsWith('changes are')))
  return { redis, store, told, log }
}

describe('Redis store: pushed changes', () => {
  const changes = [
    ['a write', ['SET', 'shenma:tools:a', '2']],
    ['a key with commas', ['SET', 'shenma:tools:a,b,c', '1'], 'shenma:tools:a,b,c'],
    ['a delete', ['DEL', 'shenma:tools:a']],
    ['an expiry', ['PEXPIRE', 'shenma:tools:a', '20']],
    ['a change of type', ['EVAL', "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], '1')", '1', 'shenma:tools:a']],
    ['a rename', ['RENAME', 'shenma:tools:a', 'shenma:tools:z'], 'shenma:tools:z']
  ] as const
  for (const [what, [command, ...rest], key = 'shenma:tools:a'] of changes) {
    test(`tell of ${what}`, async t => {
      const { redis, told } = await open(t)
      await redis.client.set('shenma:tools:a', '1')
      await waitFor('the first write', () => told.delete('shenma:tools:a'))
      await redis.client.call(command, ...rest)
      await waitFor(what, () => told.has(key))
      assert.equal(told.has('*'), false)
    })
  }

  test('tell that anything may have changed when Redis is flushed', async t => {
    const { redis, told } = await open(t)
    await redis.client.set('shenma:tools:a', '1')
    await redis.client.flushall()
    await waitFor('the flush', () => told.has('*'))
  })

  test('tell of all four kinds, and of no other key', async t => {
    const { redis, told } = await open(t)
    await redis.client.mset('shenma:toolsX:a', '1', 'other', '1', 'shenma:extensions:a', '1', 'shenma:templates:a', '1', 'shenma:environs:a', '1', 'shenma:tools:a', '1')
    await waitFor('the kinds', () => told.size >= 4)
    assert.deepEqual([...told].sort(), ['shenma:environs:a', 'shenma:extensions:a', 'shenma:templates:a', 'shenma:tools:a'])
  })

  for (const [which, kill] of [['the listener', LISTENERS], ['the connection that has the tracking', OTHERS]] as const) {
    test(`are set up anew, and everything is verified, when ${which} is lost`, async t => {
      const { redis, store, told } = await open(t)
      for (let times = 0; times < 3; times++) {
        await redis.client.call(...kill as readonly string[] as [string, ...string[]])
        await waitFor('the loss to be told', () => told.delete('*'))
        await waitFor('changes to be pushed again', () => store.status().changes === 'pushed' && told.delete('*'))
        await redis.client.set('shenma:tools:a', String(times))
        await waitFor('a change', () => told.delete('shenma:tools:a'))
      }
    })
  }

  test('are told to a user who may do no more than docs/stores.md says', async t => {
    const { redis, store, told } = await open(t, { user: '~shenma:* +scan +getrange +pttl +strlen +type +exists +info +ping +client +subscribe &__redis__:invalidate' })
    assert.equal(store.status().changes, 'pushed')
    await redis.client.set('shenma:tools:a', '1')
    await waitFor('the change', () => told.has('shenma:tools:a'))
    assert.deepEqual(await store.read(['shenma:tools:a']), [{ kind: 'text', text: '1' }])
  })

  test('are polled where the user may not track, and the log says why', async t => {
    const { store, log } = await open(t, { user: '+@all -client|tracking ~* &*' })
    assert.equal(store.status().changes, 'polled')
    assert.match(log.join('\n'), /changes are polled: Redis at .* gives an error: NOPERM/)
    assert.equal(store.status().connected, true)
  })

  test('are polled where the user may not listen', async t => {
    const { store } = await open(t, { user: '+@all ~* resetchannels' })
    assert.equal(store.status().changes, 'polled')
  })

  test('still tell of a reconnect where changes are polled', async t => {
    const { redis, told } = await open(t, { user: '+@all -client|tracking ~* &*' })
    await redis.client.call('CLIENT', 'KILL', 'USER', 'reader')
    await waitFor('the reconnect', () => told.has('*'))
  })

  test('are said to be polled while Redis is frozen, without being asked', async t => {
    const { redis, store } = await open(t)
    await redis.pause()
    await waitFor('the notice', () => store.status().changes === 'polled' && !store.status().connected)
    await redis.resume()
    await waitFor('changes to be pushed again', () => store.status().changes === 'pushed' && store.status().connected)
  })
})
