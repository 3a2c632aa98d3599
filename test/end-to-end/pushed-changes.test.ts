import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { parseMetrics, sumOf } from '../helpers/metrics.ts'
import { startRedisCluster } from '../helpers/redis-cluster.ts'
import { startRedisSentinel } from '../helpers/redis-sentinel.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { type RedisService, startRedisService } from '../helpers/redis-service.ts'
import { type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

// The service polls once an hour here: what is served was pushed.
const NO_POLL = { POLL_INTERVAL_MS: '3600000' }

const REGISTERED = { 'shenma:templates:ask': 'for {{vscode.rules}}', 'shenma:environs:vscode:rules': '"tests"' }

/** One Redis with something in it. */
async function startFilled (t: TestContext): Promise<RedisServer> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  await redis.client.mset(REGISTERED)
  return redis
}

async function pushed (service: RedisService): Promise<void> {
  await waitFor('changes to be pushed', async () => {
    const { status, store } = await service.readiness()
    return status === 'ready' && store.changes === 'pushed'
  }, 30_000)
}

async function storeOf ({ url }: ServiceProcess): Promise<unknown> {
  return (await (await fetch(`${url}/readyz`)).json() as { store: unknown }).store
}

const messages = ({ log }: ServiceProcess): string[] => log.map(line => (JSON.parse(line) as { msg: string }).msg)

describe('Pushed changes', () => {
  it('are what readiness and the log say, where Redis tells of them', async t => {
    const redis = await startFilled(t)
    const service = await startProcess(t, { REDIS_URL: redis.url })
    assert.deepEqual(await storeOf(service), { variant: 'redis', connected: true, changes: 'pushed' })
    await waitFor('the log to say so', () => messages(service).includes('changes are pushed'))
  })

  it('give way to a poll where Redis refuses, as readiness and the log say', async t => {
    const redis = await startFilled(t)
    await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '&*', '+@all', '-client|tracking')
    const service = await startProcess(t, { REDIS_URL: `redis://reader:secret@127.0.0.1:${redis.port}`, POLL_INTERVAL_MS: '100' })
    assert.deepEqual(await storeOf(service), { variant: 'redis', connected: true, changes: 'polled' })
    await waitFor('the log to say so', () => messages(service).some(message => /^changes are polled: .*NOPERM/.test(message)))
    await redis.client.set('shenma:templates:more', 'text')
    await waitFor('the change to be served', async () => (await fetch(`${service.url}/api/prompts/more`)).status === 200)
  })

  it('are served without a poll: entries, shared variables, and deletes', async t => {
    const redis = await startFilled(t)
    const service = await startRedisService(t, redis.url, NO_POLL)
    assert.equal(await service.render('ask'), 'for tests')
    await redis.client.set('shenma:environs:vscode:rules', '"more"')
    await waitFor('the shared variable', async () => await service.render('ask') === 'for more')
    await redis.client.set('shenma:templates:ask', 'always {{vscode.rules}}')
    await waitFor('the template', async () => await service.render('ask') === 'always more')
    await redis.client.del('shenma:templates:ask')
    await waitFor('the delete', () => service.render('ask').then(() => false, () => true))
  })

  it('are measured, as are the values of shared variables in memory', async t => {
    const redis = await startFilled(t)
    const service = await startProcess(t, { REDIS_URL: redis.url })
    const read = async (name: string, labels: Readonly<Record<string, string>> = {}) => sumOf(parseMetrics(await (await fetch(`${service.url}/metrics`)).text()), `prompt_shell_${name}`, labels)
    assert.equal(await read('registry_changes_pushed'), 1)
    const before = await read('registry_write_to_served_seconds_count')
    await redis.client.set('shenma:templates:more', 'text')
    await waitFor('the change to be measured', async () => await read('registry_write_to_served_seconds_count') > before)
    const hits = await read('cache_hits_total', { cache: 'environs' })
    await fetch(`${service.url}/api/render/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
    assert.ok(await read('cache_hits_total', { cache: 'environs' }) > hits)
    assert.ok(await read('cache_bytes', { cache: 'environs' }) > 0)
  })

  it('are verified after a reconnect, for what was written meanwhile was told to nobody', async t => {
    const redis = await startFilled(t)
    const service = await startRedisService(t, redis.url, NO_POLL)
    await redis.kill()
    await service.hurt()
    await redis.restart()
    await redis.client.mset({ ...REGISTERED, 'shenma:templates:ask': 'after {{vscode.rules}}' })
    await waitFor('the change to be served', async () => await service.render('ask') === 'after tests')
  })

  it('are gathered: a burst of 3,000 becomes a few generations', async t => {
    const redis = await startFilled(t)
    const service = await startRedisService(t, redis.url, NO_POLL)
    const before = (await service.readiness()).generation
    const pipeline = redis.client.pipeline()
    for (let index = 0; index < 3000; index++) pipeline.set(`shenma:templates:burst:${index}`, `text ${index}`)
    await pipeline.exec()
    await waitFor('the burst to be served', async () => (await service.readiness()).kinds.prompts.entries === 3001)
    assert.ok((await service.readiness()).generation - before < 100)
  })

  it('come from every master of a cluster, and from the node that a slot has moved to', async t => {
    const servers = await startRedisCluster()
    t.after(servers.stop)
    await servers.setAll(REGISTERED)
    const service = await startRedisService(t, servers.url, NO_POLL)
    await pushed(service)
    for (const [index, master] of servers.masters.entries()) {
      const name = Array.from({ length: 100 }, (_, number) => `p${number}`).find(name => servers.masterOf(`shenma:templates:${name}`) === master) ?? ''
      await master.client.set(`shenma:templates:${name}`, `from ${index}`)
      await waitFor('the change to be served', async () => await service.render(name).catch(() => '') === `from ${index}`)
    }
    const key = 'shenma:templates:{moving}:one'
    const from = servers.masterOf(key)
    const to = servers.masters.find(master => master !== from) ?? from
    await from.client.set(key, 'here')
    await waitFor('the prompt to be served', async () => await service.render('{moving}.one').catch(() => '') === 'here')
    await servers.moveSlot(Number(await from.client.cluster('KEYSLOT', key)), from, to)
    await to.client.set(key, 'there')
    await waitFor('the change after the move', async () => await service.render('{moving}.one') === 'there')
  })

  it('come from a replica of a cluster that has taken over', async t => {
    const servers = await startRedisCluster({ hasReplicas: true })
    t.after(servers.stop)
    await servers.setAll(REGISTERED)
    const service = await startRedisService(t, servers.url)
    await pushed(service)
    await servers.synchronised()
    const [key] = Object.keys(REGISTERED) as [string]
    const lost = servers.masterOf(key)
    const heir = servers.replicas[servers.masters.indexOf(lost)]
    await lost.kill()
    await service.hurt()
    await waitFor('the replica to take over', async () => await heir?.client.set(key, 'by the heir') === 'OK', 60_000)
    await pushed(service)
    await heir?.client.set(key, 'pushed by the heir')
    await waitFor('the change to be served', async () => await service.render('ask') === 'pushed by the heir')
  })

  it('come from the master that Sentinels name after a failover', async t => {
    const sentinel = await startRedisSentinel()
    t.after(sentinel.stop)
    await sentinel.master.client.mset(REGISTERED)
    await waitFor('the replica to have it', async () => await sentinel.replica.client.dbsize() === 2)
    const service = await startRedisService(t, sentinel.url)
    await pushed(service)
    await sentinel.master.kill()
    await sentinel.failedOver()
    await pushed(service)
    await sentinel.replica.client.set('shenma:templates:ask', 'pushed by the heir')
    await waitFor('the change to be served', async () => await service.render('ask') === 'pushed by the heir')
  })
})
