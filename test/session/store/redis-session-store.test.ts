import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { createRedisSessionStore, type RedisSessionStoreOptions } from '../../../src/session/store/redis-session-store.ts'
import { createRedisStore } from '../../../src/store/redis/redis-store.ts'
import { SessionStoreError, type Append, type Appended, type SessionStore } from '../../../src/session/store/session-store.ts'
import { startFaultProxy } from '../../helpers/fault-proxy.ts'
import { listAll } from '../../helpers/list-all.ts'
import { keySlot, startRedisCluster } from '../../helpers/redis-cluster.ts'
import { startRedisSentinel } from '../../helpers/redis-sentinel.ts'
import { startRedisServer, type RedisServer, type RedisServerOptions } from '../../helpers/redis-server.ts'
import { shared } from '../../helpers/shared.ts'
import { storeKeys } from '../../helpers/store-keys.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { append, appendOf, createSession, newId, positionOf, readAll } from './session-appends.ts'
import { KEEP_MS, NO_LOG, redisKey } from './session-store-variants.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

async function startRedis (t: TestContext, options?: RedisServerOptions): Promise<RedisServer> {
  const redis = await startRedisServer(options)
  t.after(redis.stop)
  return redis
}

function openStore (t: TestContext, url: string, options: Partial<RedisSessionStoreOptions> = {}): SessionStore {
  const store = createRedisSessionStore({ url, keep: KEEP_MS, log: NO_LOG, ...options })
  t.after(() => store.close())
  return store
}

/** Appends as the runner does: the same again until there is an answer. */
async function insist (store: SessionStore, one: Append): Promise<Appended> {
  return await waitFor('an answer to the append', () => orNothing(store.append(one)))
}

/** What a store answers; nothing while it cannot be reached. */
async function orNothing<T> (answer: Promise<T>): Promise<T | undefined> {
  return await answer.catch((error: unknown) => {
    if (!(error instanceof SessionStoreError)) throw error
    return undefined
  })
}

/** Messages that the nodes of a cluster have sent each other for their subscribers. */
async function busMessages (masters: readonly RedisServer[]) {
  const infos = await Promise.all(masters.map(async ({ client }) => String(await client.cluster('INFO'))))
  const sent = (kind: string): number => infos.reduce((sum, info) => sum + Number(new RegExp(`cluster_stats_messages_${kind}_sent:(\\d+)`).exec(info)?.[1] ?? 0), 0)
  return { publish: sent('publish'), publishshard: sent('publishshard') }
}

describe('Sessions in Redis', () => {
  it('connect to nothing before they are used, and leave no connection behind', async t => {
    const redis = await startRedis(t)
    const clients = async () => String(await redis.client.client('LIST')).split('\n').filter(line => line.includes('ai-prompt-shell')).length
    const store = openStore(t, redis.url)
    assert.equal(store.problem(), undefined)
    assert.equal(await clients(), 0)
    await append(store, newId())
    await store.watch(newId(), { onAppend () {}, onLive () {}, onGap () {} })
    assert.equal(await clients(), 2)
    await store.close()
    await waitFor('all connections to end', async () => await clients() === 0)
  })

  it('say what is wrong with a URL at once', () => {
    assert.throws(() => createRedisSessionStore({ url: 'http://a', keep: 1, log: NO_LOG }), SessionStoreError)
  })

  it('are no entries of the registry, and nothing that it is told of', async t => {
    const redis = await startRedis(t)
    const registry = createRedisStore({ keys: storeKeys(), url: redis.url })
    t.after(() => registry.close())
    const told: unknown[] = []
    await waitFor('changes to be pushed', () => registry.status().changes === 'pushed')
    await registry.watch(keys => told.push(keys))
    told.length = 0
    await createSession(openStore(t, redis.url), newId(), 2)
    await redis.client.set('shenma:tools:a', '{}')
    await waitFor('a tool to be told', () => told.length > 0)
    assert.deepEqual(told, [new Set(['shenma:tools:a'])])
    for (const kind of ['extensions', 'templates', 'environs']) assert.deepEqual(await listAll(registry, `shenma:${kind}:`), [])
  })

  it('lie on 16 shards, in keys that the docs name', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url)
    const id = newId('7')
    const top = await append(store, id, undefined, { owner: 'ann', driver: 'a' })
    assert.deepEqual((await redis.client.keys('*')).sort(), [
      `shenma:sessions:{7}:${id}:head`, `shenma:sessions:{7}:${id}:log`, 'shenma:sessions:{7}:all', 'shenma:sessions:{7}:due', 'shenma:sessions:{7}:of:ann', 'shenma:sessions:{7}:open:ann', 'shenma:sessions:{7}:turns'
    ].sort())
    assert.equal(await redis.client.xlen(redisKey(id, 'log')), 1)
    await append(store, id, top, { status: 'completed', due: 'never' })
    for (const name of ['log', 'head'] as const) {
      const left = await redis.client.pttl(redisKey(id, name))
      assert.ok(left > KEEP_MS - 10_000 && left <= KEEP_MS, `${left}`)
    }
  })

  it('leave nothing behind when they have expired', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url, { keep: 1 })
    for (let count = 0; count < 20; count++) await append(store, newId(), undefined, { status: 'completed', due: 'never' })
    await waitFor('Redis to be empty', async () => {
      await store.take('a', 1, 1)
      return await redis.client.dbsize() === 0
    })
  })

  for (const policy of ['allkeys-lru', 'allkeys-random']) {
    it(`are refused by a store over a Redis with ${policy}, until that is changed`, async t => {
      const redis = await startRedis(t, { settings: ['--maxmemory-policy', policy] })
      const store = openStore(t, redis.url)
      const refusal = `Redis at 127.0.0.1:${redis.port} may drop sessions when its memory is full: its maxmemory-policy is ${policy}, and has to be noeviction or volatile-*`
      await assert.rejects(append(store, newId()), new SessionStoreError(refusal, { cause: new Error() }))
      await assert.rejects(store.take('a', 1, 1), SessionStoreError)
      assert.equal(store.problem(), refusal)
      assert.equal(await redis.client.dbsize(), 0)
      await redis.client.config('SET', 'maxmemory-policy', 'volatile-ttl')
      await append(store, newId())
      assert.equal(store.problem(), undefined)
    })
  }

  it('are served by a Redis that hides its policy, with a warning', async t => {
    const redis = await startRedis(t)
    await redis.client.call('ACL', 'SETUSER', 'app', 'on', '>pass', '~shenma:sessions:*', '&shenma:sessions:*', '+@all', '-info', '-config')
    const warnings: string[] = []
    const store = openStore(t, redis.url.replace('redis://', 'redis://app:pass@'), { log: quietLog({ warn: (_fields: object, message: string) => { warnings.push(message) } }) })
    await append(store, newId())
    assert.deepEqual(warnings, ['Redis does not tell its maxmemory-policy: sessions need noeviction or volatile-*'])
  })

  it('need no more rights than the docs name', async t => {
    const [, rights = ''] = /An ACL user for sessions needs `([^`]+)`/.exec(await readFile('docs/stores.md', 'utf8')) ?? []
    const redis = await startRedis(t)
    await redis.client.call('ACL', 'SETUSER', 'app', 'on', '>pass', '~shenma:sessions:*', '&shenma:sessions:*', ...rights.split(' '))
    const store = openStore(t, redis.url.replace('redis://', 'redis://app:pass@'))
    const id = newId()
    let heard = 0
    await store.watch(id, { onAppend () { heard++ }, onLive () { heard++ }, onGap () {} })
    const top = await append(store, id, undefined, { due: 0 })
    store.publish(id, {})
    assert.deepEqual((await store.take('a', 1, 1000)).ids, [id])
    await store.renew('a', [id], 1000)
    assert.equal(await store.redrive(id), true)
    assert.equal((await store.tally()).due, 1)
    assert.deepEqual(await store.asking(), [])
    const last = await append(store, id, top, { status: 'completed', due: 'never' })
    await append(store, id, last)
    assert.equal((await readAll(store, id)).length, 3)
    assert.equal((await store.list({ limit: 1 })).heads.length, 1)
    assert.equal((await store.head(id))?.seq, 3)
    await waitFor('all to be heard', () => heard === 4)
  })

  it('change nothing in a Redis that is full', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url)
    const id = newId()
    const top = await append(store, id)
    await redis.client.config('SET', 'maxmemory', '1')
    const next = appendOf(id, top)
    await assert.rejects(store.append(next), SessionStoreError)
    await redis.client.config('SET', 'maxmemory', '0')
    assert.equal((await store.head(id))?.seq, 1)
    assert.equal(await store.append(next), 'ok')
  })

  it('are there after a kill and a restart with an append-only file, and an append sent again finds out whether it arrived', async t => {
    const folder = await createTemporaryFolder()
    t.after(() => folder.remove())
    const redis = await startRedis(t, { settings: ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', folder.path] })
    const store = openStore(t, redis.url)
    const id = newId()
    const top = await createSession(store, id, 20)
    let gaps = 0
    const heard: number[] = []
    await store.watch(id, { onAppend: seq => { heard.push(seq) }, onLive () {}, onGap () { gaps++ } })
    const next = appendOf(id, top)
    await redis.kill()
    await assert.rejects(store.append(next), SessionStoreError)
    assert.match(store.problem() ?? '', /^Redis at /)
    await redis.restart()
    assert.equal(await insist(store, next), 'ok')
    assert.equal(await store.append(next), 'again')
    assert.deepEqual((await readAll(store, id)).map(({ seq }) => seq), Array.from({ length: 21 }, (_, index) => index + 1))
    await waitFor('the gap to be told', () => gaps > 0)
    await append(store, id, positionOf(next))
    await waitFor('the append behind it', () => heard.includes(22))
  })

  it('answer a resend with "again" whose first reply was lost', async t => {
    const redis = await startRedis(t)
    const proxy = await startFaultProxy(redis.port)
    t.after(proxy.stop)
    const store = openStore(t, `redis://127.0.0.1:${proxy.port}`, { commandTimeout: 500 })
    const id = newId()
    const top = await append(store, id)
    const next = appendOf(id, top)
    proxy.set('half')
    await assert.rejects(store.append(next), SessionStoreError)
    proxy.set(undefined)
    assert.equal(await insist(store, next), 'again')
    assert.equal((await readAll(store, id)).length, 2)
  })

  it('tell followers of a gap when word stops coming without a sign', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url, { commandTimeout: 300 })
    let gaps = 0
    await store.watch(newId(), { onAppend () {}, onLive () {}, onGap () { gaps++ } })
    await redis.pause()
    await waitFor('trouble', async () => await store.head(newId()).then(() => false, () => true))
    await redis.resume()
    await waitFor('the gap', () => gaps === 1)
  })

  it('tell who is behind a Sentinel that the tail was lost in a failover, and go on', async t => {
    const sentinel = await startRedisSentinel()
    t.after(sentinel.stop)
    const store = openStore(t, sentinel.url, { commandTimeout: 500 })
    const id = newId()
    const kept = await createSession(store, id, 3)
    await waitFor('the replica to have it', async () => await sentinel.replica.client.xlen(redisKey(id, 'log')) === 3)
    // What is written from here on never reaches the replica.
    await sentinel.replica.pause()
    await sentinel.master.client.call('CLIENT', 'KILL', 'TYPE', 'replica')
    const lost = appendOf(id, kept)
    assert.equal(await store.append(lost), 'ok')
    await sentinel.master.kill()
    await sentinel.replica.resume()
    await sentinel.failedOver()
    const next = appendOf(id, positionOf(lost))
    assert.deepEqual(await insist(store, next), { top: kept })
    // Who still has it appends it again.
    assert.equal(await insist(store, lost), 'ok')
    assert.equal(await insist(store, next), 'ok')
    assert.deepEqual((await readAll(store, id)).map(({ seq }) => seq), [1, 2, 3, 4, 5])
  })

  it('of an earlier version, which wrote no set of them, are found in which an approval waits', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url)
    const [asking, other] = [newId('7'), newId('7')]
    await append(store, asking, undefined, { status: 'waiting_approval' })
    await append(store, other, undefined, { status: 'waiting_input' })
    await redis.client.del('shenma:sessions:{7}:asking')
    assert.deepEqual((await store.asking()).map(({ id }) => id), [asking])
    // Which it does not keep, either: after a while all are looked at again.
    await redis.client.del('shenma:sessions:{7}:asking', 'shenma:sessions:{7}:asking:known')
    assert.deepEqual((await store.asking()).map(({ id }) => id), [asking])
  })

  it('of an earlier version, which wrote no turns, are taken in turns too', async t => {
    const redis = await startRedis(t)
    const store = openStore(t, redis.url)
    const ids = [newId('7'), newId('7'), newId('7')]
    for (const [index, id] of ids.entries()) await append(store, id, undefined, { due: 0, owner: index < 2 ? 'ann' : 'bob' })
    await redis.client.del('shenma:sessions:{7}:turns')
    for (const id of ids) await redis.client.hdel(redisKey(id, 'head'), 'turn')
    // Its time has changed since an earlier version wrote it.
    const later = newId('7')
    const top = await append(store, later, undefined, { due: 60_000, owner: 'eve' })
    await redis.client.zadd('shenma:sessions:{7}:due', 1, later)
    const taken = await store.take('a', 3, 60_000)
    const left = ids.filter(id => !taken.ids.includes(id))
    assert.deepEqual([taken.ids.length, taken.ids.includes(ids[2] as string), taken.ids.includes(later), left.length], [3, true, true, 1])
    assert.equal(await store.append(appendOf(later, top, { due: 0, owner: 'eve' })), 'ok')
    assert.deepEqual(new Set((await store.take('a', 5, 60_000)).ids), new Set([later, ...left]))
  })

  it('go on in a cluster when a master is lost', async t => {
    const cluster = await startRedisCluster({ hasReplicas: true })
    t.after(cluster.stop)
    const store = openStore(t, cluster.url, { commandTimeout: 500 })
    const ids = ['0', '4', '9', 'f'].map(newId)
    const tops = await Promise.all(ids.map(id => createSession(store, id, 2)))
    await cluster.synchronised()
    const [id, top] = [ids[0] as string, tops[0] as { seq: number, token: string }]
    const master = cluster.masterOf(redisKey(id, 'log'))
    await master.kill()
    assert.equal(await insist(store, appendOf(id, top)), 'ok')
    assert.equal((await waitFor('all shards to be listed', () => orNothing(store.list({ limit: 10 })))).heads.length, 4)
    assert.deepEqual(await Promise.all(ids.map(async one => (await readAll(store, one)).length)), [3, 2, 2, 2])
    const last = ids.at(-1) as string
    // It follows over one of the nodes: over which, nobody says.
    let hears = 0
    await waitFor('a listener to be taken', () => orNothing(store.watch(last, { onAppend () { hears++ }, onLive () {}, onGap () {} })))
    await append(store, last, tops.at(-1))
    await waitFor('the append to be heard', () => hears === 1)
  })
})

describe('Word of sessions in a cluster', () => {
  const cluster = shared(async t => {
    const servers = await startRedisCluster()
    t.after(servers.stop)
    return servers
  })

  /** What the nodes have sent each other of two entries and two live messages a session. */
  async function spread (t: TestContext, ids: readonly string[]) {
    const { url, masters } = await cluster()
    const [store, other] = [openStore(t, url), openStore(t, url)]
    const before = await busMessages(masters)
    const heard = new Map<string, unknown[]>(ids.map(id => [id, []]))
    await Promise.all(ids.map(id => other.watch(id, { onAppend (seq) { heard.get(id)?.push(seq) }, onLive ({ live }) { heard.get(id)?.push(live) }, onGap () {} })))
    for (const id of ids) {
      await createSession(store, id, 2)
      for (const live of ['a', 'b']) store.publish(id, { live })
    }
    await waitFor('all words', () => ids.every(id => heard.get(id)?.length === 4))
    assert.deepEqual([...heard.values()], ids.map(() => [1, 2, 'a', 'b']))
    const sent = await busMessages(masters)
    return { publish: sent.publish - before.publish, publishshard: sent.publishshard - before.publishshard }
  }

  it('goes to the nodes of its shard alone', async t => {
    assert.deepEqual(await spread(t, ['0', '4', '9', 'f'].map(newId)), { publish: 0, publishshard: 0 })
  })

  it('goes to all nodes where the ACL has no sharded channels', async t => {
    const setUser = async (...rules: string[]) => { for (const { client } of (await cluster()).masters) await client.call('ACL', 'SETUSER', 'default', ...rules) }
    await setUser('-spublish', '-ssubscribe', '-sunsubscribe')
    try {
      assert.deepEqual(await spread(t, [newId('0')]), { publish: 8, publishshard: 0 })
    } finally {
      await setUser('+@all')
    }
  })

  it('goes on, after a gap, when a slot has moved to another node, also for who listens only then', async t => {
    const { url, masters, masterOf, moveSlot } = await cluster()
    const [store, other] = [openStore(t, url), openStore(t, url)]
    const [id, late, resting] = [newId('7'), newId('7'), newId('b')]
    const heard: Array<number | 'gap'> = []
    await other.watch(id, { onAppend (seq) { heard.push(seq) }, onLive () {}, onGap () { heard.push('gap') } })
    const top = await createSession(store, id, 1)
    await waitFor('the first', () => heard.length === 1)
    // Of this shard nobody listens when it moves, so nobody is told.
    await (await other.watch(resting, { onAppend () {}, onLive () {}, onGap () {} }))()
    for (const one of [id, resting]) {
      const from = masterOf(redisKey(one, 'log'))
      await moveSlot(keySlot(redisKey(one, 'log')), from, masters.find(each => each !== from) as RedisServer)
    }
    await waitFor('the gap', () => heard.includes('gap'))
    assert.equal(await insist(store, appendOf(id, top)), 'ok')
    await waitFor('the second', () => heard.includes(2))
    for (const one of [late, resting]) {
      let hears = 0
      await waitFor('a listener to be taken', () => orNothing(other.watch(one, { onAppend () { hears++ }, onLive () {}, onGap () { hears++ } })))
      await createSession(store, one, 1)
      await waitFor('word of it', () => hears > 0)
    }
  })
})
