import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test'
import { keySlot, type RedisClusterOptions, type RedisClusterServers, startRedisCluster } from '../helpers/redis-cluster.ts'
import { type RedisService, startRedisService } from '../helpers/redis-service.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Templates that all have one slot, and as many that are spread over all. */
const COUNT = 200
const SLOT = keySlot('{moving}')

const prompts = Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [
  [`shenma:templates:spread:${index}`, `text ${index}`],
  [`shenma:templates:{moving}:${index}`, `text ${index}`]
]).flat())

const ASK = 'shenma:templates:ask'
const RULES = 'shenma:environs:vscode:rules'

async function register (servers: RedisClusterServers): Promise<void> {
  await servers.setAll({ ...prompts, [ASK]: 'for {{vscode.rules}}', [RULES]: '"tests"' })
}

async function open (t: TestContext, servers: RedisClusterServers): Promise<RedisService> {
  await register(servers)
  const service = await startRedisService(t, servers.url)
  await service.ready()
  assert.equal(await service.render('ask'), 'for tests')
  assert.equal((await service.readiness()).kinds.prompts.entries, 2 * COUNT + 1)
  return service
}

/** A cluster for one test that hurts it beyond repair. */
async function startOwn (t: TestContext, options: RedisClusterOptions): Promise<RedisClusterServers> {
  const servers = await startRedisCluster(options)
  t.after(servers.stop)
  return servers
}

describe('The service over a Redis Cluster', () => {
  let servers: RedisClusterServers

  before(async () => { servers = await startRedisCluster() })
  after(() => servers.stop())
  beforeEach(() => Promise.all(servers.masters.map(({ client }) => client.flushall())))

  it('lists and reads what lies on all nodes, and follows changes on each', async t => {
    const service = await open(t, servers)
    for (const master of servers.masters) {
      const index = Array.from({ length: COUNT }, (_, index) => index).find(index => servers.masterOf(`shenma:templates:spread:${index}`) === master)
      await master.client.set(`shenma:templates:spread:${index}`, 'changed')
      await waitFor('the change to be served', async () => await service.render(`spread.${index}`) === 'changed')
    }
  })

  it('finds all nodes through one of them', async t => {
    await register(servers)
    const service = await startRedisService(t, `redis+cluster://127.0.0.1:${servers.masters[1]?.port}`)
    await service.ready()
    assert.equal((await service.readiness()).kinds.prompts.entries, 2 * COUNT + 1)
  })

  it('shows what it always showed while a slot moves, and follows changes on its way', async t => {
    const service = await open(t, servers)
    const from = servers.masterOf('shenma:templates:{moving}:0')
    const to = servers.masters.find(master => master !== from) ?? from
    const counts = service.keepCounting('prompts')
    const renders = service.keepRendering('{moving}.7', text => text === 'text 7')
    for (const [source, target, round] of [[from, to, 'there'], [to, from, 'back']] as const) {
      await servers.moveSlot(SLOT, source, target, async () => {
        // Keys 0 and 1 are on either side at this point, in an order that only the server knows.
        for (const index of [0, 1]) await servers.setMoving(`shenma:templates:{moving}:${index}`, round, source, target)
        for (const index of [0, 1]) await waitFor('the change to be served', async () => await service.render(`{moving}.${index}`) === round)
        await service.reload()
        assert.equal((await service.readiness()).store.problem, undefined)
      })
      await target.client.set('shenma:templates:{moving}:2', round)
      await waitFor('the change after the move to be served', async () => await service.render('{moving}.2') === round)
    }
    assert.deepEqual(await counts.stop(), [2 * COUNT + 1])
    assert.deepEqual(await renders.stop(), [])
  })
})

describe('The service over a Redis Cluster of which one master is flushed', () => {
  it('keeps what lay there, says so, also when something is published on it, until it is told to believe the node', async t => {
    const servers = await startOwn(t, {})
    const service = await open(t, servers)
    const flushed = servers.masterOf(RULES)
    const counts = service.keepCounting('prompts')
    const renders = service.keepRendering('ask', text => text === 'for tests')
    await flushed.client.flushall()
    await waitFor('the node to be held', async () => (await service.readiness()).store.heldNodes?.includes(`127.0.0.1:${flushed.port}`) === true)
    await renders.more(50)
    assert.deepEqual(await renders.stop(), [])
    assert.deepEqual(await counts.stop(), [2 * COUNT + 1])
    await flushed.client.set(RULES, '"more"')
    await waitFor('the change to be served', async () => await service.render('ask') === 'for more')
    const { store, kinds } = await service.readiness()
    assert.deepEqual([store.heldNodes, kinds.prompts.entries], [[`127.0.0.1:${flushed.port}`], 2 * COUNT + 1])
    await service.reload()
    const after = await service.readiness()
    assert.deepEqual([after.store.heldNodes, after.kinds.prompts.entries < 2 * COUNT + 1], [undefined, true])
  })
})

describe('The service over a Redis Cluster that loses a node', { concurrency: 2 }, () => {
  const losses = [
    { title: 'is killed', lose: (servers: RedisClusterServers) => servers.masterOf(RULES).kill() },
    { title: 'freezes', lose: (servers: RedisClusterServers) => servers.masterOf(RULES).pause() }
  ]
  for (const { title, lose } of losses) {
    it(`loses nothing when a master ${title}, and follows the replica that takes over`, async t => {
      const servers = await startOwn(t, { hasReplicas: true })
      const service = await open(t, servers)
      const counts = service.keepCounting('prompts')
      const renders = service.keepRendering('ask', text => text === 'for tests' || text === 'for more')
      const heir = servers.replicas[servers.masters.indexOf(servers.masterOf(RULES))]
      await servers.synchronised()
      await lose(servers)
      await waitFor('the replica to take over', async () => await heir?.client.set(RULES, '"more"') === 'OK', 60_000)
      await waitFor('the change to be served', async () => await service.render('ask') === 'for more')
      await service.ready()
      assert.deepEqual(await renders.stop(), [])
      assert.deepEqual(await counts.stop(), [2 * COUNT + 1])
    })
  }

  it('keeps all that was loaded when a master is lost for good, and says which', async t => {
    const servers = await startOwn(t, { servesParts: true })
    const service = await open(t, servers)
    const counts = service.keepCounting('prompts')
    const renders = service.keepRendering('ask', text => text === 'for tests')
    const lost = servers.masterOf(RULES)
    await lost.kill()
    assert.match(await service.hurt(), new RegExp(`127.0.0.1:${lost.port}`))
    const other = servers.masters.find(master => master !== lost)
    await waitFor('the others to know', async () => String(await other?.client.cluster('INFO')).includes('cluster_slots_fail:5461') || String(await other?.client.cluster('INFO')).includes('cluster_slots_fail:5462'))
    await renders.more(50)
    assert.equal((await service.readiness()).status, 'stale')
    assert.deepEqual(await renders.stop(), [])
    assert.deepEqual(await counts.stop(), [2 * COUNT + 1])
  })
})
