import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Fault, type FaultProxy, startFaultProxy } from '../helpers/fault-proxy.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { type RedisService, startRedisService } from '../helpers/redis-service.ts'
import { waitFor } from '../helpers/wait-for.ts'

// Every way in which a Redis can be lost: what was loaded is served all the time, and what is written after its return is
// served by itself.

/** A prompt with a shared variable, and one more of each kind that is loaded. */
const REGISTERED = {
  'shenma:templates:ask': 'for {{vscode.rules}}',
  'shenma:templates:other': 'other',
  'shenma:environs:vscode:rules': '"tests"',
  'shenma:extensions:sample': '{"name":"sample","version":"1.0.0","extensionType":"skill","contributes":{}}',
  'shenma:agents:free': '{"mode":"tools","tools":[]}',
  'shenma:skills:tidy': '{"description":"Tidies up.","body":"Tidy up."}',
  'shenma:plans:careful': '{"description":"careful"}',
  'shenma:releases:ask': '{"next":1,"labels":{},"versions":[],"moves":[]}',
  'shenma:tools:code:find': '{"name":"find","type":"restful","url":"http://127.0.0.1:9/find"}'
}

/** Kills and restarts in a row; `npm run test:long` makes them 1,000. */
const CYCLES = Number(process.env['OUTAGE_CYCLES'] ?? 20)

interface Surroundings {
  readonly redis: RedisServer
  readonly proxy: FaultProxy
  readonly service: RedisService
}

async function register (redis: RedisServer): Promise<void> {
  await redis.client.mset(REGISTERED)
}

/** The service over a proxy over a Redis in which something is registered. */
async function open (t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<Surroundings> {
  const redis = await startRedisServer()
  t.after(redis.stop)
  await register(redis)
  const proxy = await startFaultProxy(redis.port)
  t.after(proxy.stop)
  const service = await startRedisService(t, `redis://127.0.0.1:${proxy.port}`, environment)
  await service.ready()
  assert.equal(await service.render('ask'), 'for tests')
  return { redis, proxy, service }
}

interface Outage {
  readonly title: string
  hurt (surroundings: Surroundings): Promise<unknown>
  heal (surroundings: Surroundings): Promise<unknown>
}

function proxied (title: string, fault: Fault): Outage {
  return {
    title,
    async hurt ({ proxy, redis, service }) {
      proxy.set(fault)
      // Something to be told of and to read, which cannot be told or read; a drip is enough for a push, and not for a listing.
      await redis.client.set('shenma:templates:other', 'changed')
      await service.reload()
    },
    async heal ({ proxy }) { proxy.set(undefined) }
  }
}

const OUTAGES: readonly Outage[] = [
  { title: 'is killed', hurt: ({ redis }) => redis.kill(), heal: ({ redis }) => redis.restart() },
  { title: 'freezes', hurt: ({ redis }) => redis.pause(), heal: ({ redis }) => redis.resume() },
  {
    title: 'asks for a password that nobody has told',
    async hurt ({ redis }) {
      await redis.client.config('SET', 'requirepass', 'secret')
      await redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await redis.client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    },
    heal: ({ redis }) => redis.client.config('SET', 'requirepass', '')
  },
  proxied('cuts every connection', 'cut'),
  proxied('lets nothing through', 'freeze'),
  proxied('drips', 'drip'),
  proxied('talks garbage', 'garbage'),
  proxied('ends after half a reply', 'half'),
  proxied('is loading', { reply: 'LOADING Redis is loading the dataset in memory' }),
  proxied('is a read-only replica', { reply: "READONLY You can't write against a read only replica." }),
  proxied('wants a login', { reply: 'NOAUTH Authentication required.' }),
  proxied('is of a cluster that is down', { reply: 'CLUSTERDOWN The cluster is down' }),
  proxied('has lost its master', { reply: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'." }),
  proxied('is busy with a script', { reply: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.' }),
  proxied('may not be read', { reply: "NOPERM this user has no permissions to run the 'scan' command" })
]

describe('Renders of what was loaded never fail, and changes are followed again, when Redis', { concurrency: 4 }, () => {
  for (const { title, hurt, heal } of OUTAGES) {
    it(title, async t => {
      const surroundings = await open(t)
      const { redis, service } = surroundings
      const renders = service.keepRendering('ask', text => text === 'for tests' || text === 'for more')
      await hurt(surroundings)
      await service.hurt()
      await renders.more(50)
      await heal(surroundings)
      await register(redis)
      await redis.client.set('shenma:environs:vscode:rules', '"more"')
      await waitFor('the change to be served', async () => await service.render('ask') === 'for more')
      await service.ready()
      await waitFor('changes to be pushed again', async () => (await service.readiness()).store.changes === 'pushed')
      assert.deepEqual(await renders.stop(), [])
    })
  }
})

describe('What was loaded is held, and a reload drops it, when Redis', { concurrency: 4 }, () => {
  const losses: ReadonlyArray<{ title: string, lose (surroundings: Surroundings, t: TestContext): Promise<unknown> }> = [
    {
      title: 'starts again empty',
      async lose ({ redis }) {
        await redis.kill()
        await redis.restart()
      }
    },
    { title: 'is flushed', lose: ({ redis }) => redis.client.flushall() },
    {
      title: 'becomes a replica of an empty one',
      async lose ({ redis }, t) {
        const empty = await startRedisServer({ settings: ['--repl-diskless-sync-delay', '0'] })
        t.after(empty.stop)
        await redis.client.call('REPLICAOF', '127.0.0.1', empty.port)
        await waitFor('the replica to be empty', async () => await redis.client.dbsize() === 0)
      }
    }
  ]
  for (const { title, lose } of losses) {
    it(title, async t => {
      const surroundings = await open(t)
      const { service } = surroundings
      const renders = service.keepRendering('ask', text => text === 'for tests')
      await lose(surroundings, t)
      await waitFor('all kinds to be held', async () => Object.values((await service.readiness()).kinds).every(({ held }) => held))
      await service.ready()
      await renders.more(50)
      assert.deepEqual(await renders.stop(), [])
      await service.reload()
      assert.deepEqual(Object.values((await service.readiness()).kinds).map(({ entries, held }) => [entries, held]), Array(8).fill([0, false]))
      await assert.rejects(service.render('ask'), /404 .*PROMPT_NOT_FOUND/)
    })
  }

  it('stays empty longer than the hold lasts', async t => {
    const { redis, service } = await open(t, { EMPTY_HOLD_MS: '200' })
    await redis.client.flushall()
    await waitFor('the prompts to go', async () => (await service.readiness()).kinds.prompts.entries === 0)
  })
})

describe('The service over Redis', () => {
  it('starts while Redis is absent, says so, and serves when it comes', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    await redis.kill()
    const service = await startRedisService(t, redis.url)
    const { status, store } = await service.readiness()
    assert.deepEqual([status, store.connected], ['loading', false])
    assert.match(store.problem ?? '', /refuses the connection/)
    await assert.rejects(service.render('ask'), /503 .*STORE_UNAVAILABLE/)
    await redis.restart()
    await register(redis)
    await waitFor('the prompt to be served', async () => await service.render('ask') === 'for tests')
  })

  it('never publishes a part when a listing or a read breaks off', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    await register(redis)
    for (const index of Array(3000).keys()) await redis.client.set(`shenma:templates:many:${index}`, `text ${index}`)
    const proxy = await startFaultProxy(redis.port)
    t.after(proxy.stop)
    const service = await startRedisService(t, `redis://127.0.0.1:${proxy.port}`)
    await service.ready()
    for (let cycle = 0; cycle < 20; cycle++) {
      const before = proxy.connections()
      proxy.set('half')
      await service.reload()
      assert.equal((await service.readiness()).kinds.prompts.entries, 3002)
      proxy.set(undefined)
      await waitFor('a new connection', () => proxy.connections() > before)
      await service.ready()
    }
  })

  it(`serves what was loaded through ${CYCLES} kills and restarts`, async t => {
    const { redis, service } = await open(t, { POLL_INTERVAL_MS: '5000' })
    const renders = service.keepRendering('ask', text => /^for (tests|\d+)$/.test(text))
    const recoveries: number[] = []
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      await redis.kill()
      await redis.restart()
      const returned = performance.now()
      await register(redis)
      await redis.client.set('shenma:environs:vscode:rules', `"${cycle}"`)
      await waitFor('the change to be served', async () => await service.render('ask') === `for ${cycle}`)
      recoveries.push(performance.now() - returned)
    }
    assert.deepEqual(await renders.stop(), [])
    const sorted = recoveries.sort((a, b) => a - b).map(Math.round)
    t.diagnostic(`from Redis's return to a change served, in ms: median ${sorted[sorted.length >> 1]}, p99 ${sorted[Math.floor(sorted.length * 0.99)]}, most ${sorted.at(-1)}`)
  })
})
