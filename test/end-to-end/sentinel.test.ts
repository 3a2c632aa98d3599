import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type RedisSentinel, type RedisSentinelOptions, startRedisSentinel } from '../helpers/redis-sentinel.ts'
import { type RedisService, startRedisService } from '../helpers/redis-service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const COUNT = 300

interface Surroundings { readonly servers: RedisSentinel, readonly service: RedisService }

/** A master with a replica that has everything, and the service over the Sentinel that watches them. */
async function open (t: TestContext, options: RedisSentinelOptions = {}): Promise<Surroundings> {
  const servers = await startRedisSentinel(options)
  t.after(servers.stop)
  const { client } = servers.master
  await client.mset({ 'shenma:templates:ask': 'for {{vscode.rules}}', 'shenma:environs:vscode:rules': '"tests"' })
  await client.mset(Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [`shenma:templates:many:${index}`, `text ${index}`])))
  await waitFor('the replica to have it', async () => await servers.replica.client.dbsize() === COUNT + 2)
  const service = await startRedisService(t, servers.url, options.sentinelPassword === undefined ? {} : { REDIS_SENTINEL_PASSWORD: options.sentinelPassword })
  await service.ready()
  assert.equal(await service.render('ask'), 'for tests')
  return { servers, service }
}

const FAILOVERS: ReadonlyArray<{ title: string, fail (servers: RedisSentinel): Promise<unknown> }> = [
  { title: 'is killed', fail: ({ master }) => master.kill() },
  { title: 'freezes', fail: ({ master }) => master.pause() }
]

describe('The service over Sentinels', { concurrency: 3 }, () => {
  for (const { title, fail } of FAILOVERS) {
    it(`loses nothing when the master ${title}, and follows the replica that takes over`, async t => {
      const { servers, service } = await open(t)
      const renders = service.keepRendering('ask', text => text === 'for tests' || text === 'for more')
      const entries = service.keepCounting('prompts')
      await fail(servers)
      await servers.failedOver()
      await servers.replica.client.set('shenma:environs:vscode:rules', '"more"')
      await waitFor('the change to be served', async () => await service.render('ask') === 'for more')
      await service.ready()
      assert.deepEqual(await renders.stop(), [])
      assert.deepEqual(await entries.stop(), [COUNT + 1])
    })
  }

  it('stays with the new master when the old one goes on, and still takes itself for one', async t => {
    const { servers, service } = await open(t)
    await servers.master.pause()
    await servers.failedOver()
    await servers.replica.client.set('shenma:templates:ask', 'new')
    await waitFor('the change to be served', async () => await service.render('ask') === 'new')
    const renders = service.keepRendering('ask', text => text === 'new' || text === 'newer')
    await servers.master.resume()
    assert.match(await servers.master.client.info('replication'), /role:master/)
    await renders.more(50)
    await servers.replica.client.set('shenma:templates:ask', 'newer')
    await waitFor('the change to be served', async () => await service.render('ask') === 'newer')
    assert.deepEqual(await renders.stop(), [])
  })

  for (const [which, options] of [['Sentinels', {}], ['Sentinels with a password', { sentinelPassword: 'guard' }]] as const) {
    it(`leaves a master that lives, and takes itself for one, when ${which} name another`, async t => {
      const { servers, service } = await open(t, { ...options, masterSettings: ['--rename-command', 'SLAVEOF', ''] })
      const renders = service.keepRendering('ask', text => text === 'for tests' || text === 'new')
      await servers.failOver()
      await servers.failedOver()
      await servers.replica.client.set('shenma:templates:ask', 'new')
      await waitFor('the change to be served', async () => await service.render('ask') === 'new')
      assert.match(await servers.master.client.info('replication'), /role:master/)
      assert.deepEqual(await renders.stop(), [])
    })
  }

  it('goes on without Sentinels while the master lives, and logs in to them', async t => {
    const { servers, service } = await open(t, { sentinelPassword: 'guard' })
    await servers.process.kill()
    await servers.master.client.set('shenma:templates:ask', 'new')
    await waitFor('the change to be served', async () => await service.render('ask') === 'new')
    await service.ready()
  })

  it('says that no Sentinel answers', async t => {
    const { servers } = await open(t)
    await servers.process.kill()
    const other = await startRedisService(t, servers.url)
    assert.match(await other.hurt(), /^Redis at mymaster \(.*\) cannot be found: no Sentinel answers$/)
  })

  it('says that the Sentinels refuse the login', async t => {
    const { servers } = await open(t, { sentinelPassword: 'guard' })
    const other = await startRedisService(t, servers.url)
    assert.match(await other.hurt(), /cannot be found: the Sentinels refuse the login$/)
  })

  it('says that the Sentinels do not know the master', async t => {
    const { servers } = await open(t)
    const other = await startRedisService(t, `${servers.url}-of-another-name`)
    assert.match(await other.hurt(), /is not known to the Sentinels$/)
  })
})
