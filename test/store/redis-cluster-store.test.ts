import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store, StoreError } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { keySlot, type RedisClusterServers, startRedisCluster } from '../helpers/redis-cluster.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

describe('Redis store over a cluster', () => {
  let servers: RedisClusterServers
  let store: Store

  before(async () => {
    servers = await startRedisCluster()
    store = createRedisStore({ keys: storeKeys(), url: servers.url })
    await waitFor('the store to be connected', () => store.status().connected)
  })
  after(async () => {
    await store.close()
    await servers.stop()
  })

  test('writes and removes on every node', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `shenma:tools:${index}`)
    for (const key of keys) assert.equal(await store.write(key, '1'), 'created')
    assert.deepEqual([...await listAll(store, 'shenma:tools:')].sort(), keys.toSorted())
    for (const key of keys) assert.equal(await store.remove(key), 'removed')
    assert.deepEqual(await listAll(store, 'shenma:tools:'), [])
  })

  test('writes a key while its slot moves, on whichever node it is', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `shenma:tools:{moving}:${index}`)
    for (const key of keys) await store.write(key, 'old')
    const from = servers.masterOf(keys[0] ?? '')
    const to = servers.masters.find(master => master !== from) ?? from
    await servers.moveSlot(keySlot(keys[0] ?? ''), from, to, async () => {
      for (const key of keys) assert.equal(await store.write(key, 'new', { kind: 'text', text: 'old' }), 'replaced')
      assert.equal(await store.write('shenma:tools:{moving}:fresh', 'new', { kind: 'missing' }), 'created')
      assert.deepEqual(await store.read(keys), keys.map(() => ({ kind: 'text', text: 'new' })))
    })
    assert.deepEqual(await store.read(keys), keys.map(() => ({ kind: 'text', text: 'new' })))
  })

  test('lists without an error while two nodes claim a slot for a moment', async () => {
    const from = servers.masterOf('{claimed}')
    const to = servers.masters.find(master => master !== from) ?? from
    let isOver = false
    const moves = (async () => {
      for (let round = 0; round < 10; round++) {
        for (const [source, target] of [[from, to], [to, from]] as const) await servers.moveSlot(keySlot('{claimed}'), source, target)
      }
    })().finally(() => { isOver = true })
    const list = async (): Promise<void> => {
      await listAll(store, 'shenma:')
      if (!isOver) await list()
    }
    await Promise.all([moves, list()])
  })

  test('says what keeps nodes from telling of each other, and connects when they do', async t => {
    await Promise.all(servers.masters.map(({ client }) => client.call('ACL', 'SETUSER', 'reader', 'on', '>pass', '+@all', '-cluster|slots', '~*', '&*')))
    const refused = createRedisStore({ keys: storeKeys(), url: servers.url.replace('//', '//reader:pass@') })
    t.after(() => refused.close())
    await waitFor('the reason', () => / gives an error: NOPERM .*cluster\|slots/.test(refused.status().problem ?? ''))
    await assert.rejects(listAll(refused, 'shenma:'), /NOPERM/)
    await Promise.all(servers.masters.map(({ client }) => client.call('ACL', 'SETUSER', 'reader', '+cluster|slots')))
    await waitFor('the store to be connected', () => refused.status().connected)
    await listAll(refused, 'shenma:')
  })

  test('lists nothing while a slot is served by no node, and says which', async () => {
    const unserved = new StoreError('no node of the Redis Cluster serves slot 16383')
    await Promise.all(servers.masters.map(({ client }) => client.call('CLUSTER', 'DELSLOTS', 16383)))
    await assert.rejects(listAll(store, 'shenma:'), unserved)
    assert.equal(store.status().problem, unserved.message)
  })
})
