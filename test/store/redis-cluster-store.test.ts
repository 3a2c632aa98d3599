import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { agreeOnSlots, freshest, keySlot, parseClusterNodes } from '../../src/store/redis/cluster-nodes.ts'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { type Store, StoreError } from '../../src/store/store.ts'
import { listAll } from '../helpers/list-all.ts'
import { type RedisClusterServers, startRedisCluster } from '../helpers/redis-cluster.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { storeKeys } from '../helpers/store-keys.ts'

const KEYS = ['', 'a', 'shenma:tools:写作', '{moving}:1', 'a{b}c{d}', 'a{}b', 'a{b', 'a}{b}', '{{a}}', '\u{1F409}']

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

  for (const key of KEYS) {
    test(`knows the slot of "${key}" as the server does`, async () => {
      assert.equal(keySlot(key), await servers.masters[0]?.client.cluster('KEYSLOT', key))
    })
  }

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
})

const line = (id: string, flags: string, epoch: number, slots: string): string => `${id} 10.0.0.1:7000@17000,cache.example ${flags} - 0 0 ${epoch} connected ${slots}\n`

describe('Nodes of a cluster', () => {
  test('are read with their slots, and a slot that moves is noticed', () => {
    const [node] = parseClusterNodes(line('a', 'myself,master', 3, '0-5 7 [9->-b]'), false)
    assert.deepEqual(node, { id: 'a', host: '10.0.0.1', port: 7000, isMyself: true, isMaster: true, epoch: 3, slots: [[0, 5], [7, 7]], isMoving: true })
  })

  test('have their host names where connections are encrypted', () => {
    assert.equal(parseClusterNodes(line('a', 'master', 3, '0'), true)[0]?.host, 'cache.example')
  })

  test('are believed from the view of the highest epoch', () => {
    const [old, fresh] = [parseClusterNodes(line('a', 'master', 3, '0'), false), parseClusterNodes(line('b', 'master', 4, '0'), false)]
    assert.equal(freshest([old, fresh]), fresh)
  })

  test('are not believed when a slot is served by none of them, or claimed by two', () => {
    assert.throws(() => agreeOnSlots(parseClusterNodes(line('a', 'master', 1, '0-16382'), false)), new StoreError('no node of the Redis Cluster serves slot 16383'))
    assert.throws(() => agreeOnSlots(parseClusterNodes(line('a', 'master', 1, '0-16383') + line('b', 'master', 2, '100'), false)), new StoreError('two nodes of the Redis Cluster claim slot 100'))
  })
})
