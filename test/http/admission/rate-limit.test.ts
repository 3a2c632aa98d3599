import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ANYONE, type Caller } from '../../../src/access/caller.ts'
import { Rates } from '../../../src/access/rates.ts'
import { createRedisCounters } from '../../../src/store/redis/redis-counters.ts'
import { type RedisServer, startRedisServer } from '../../helpers/redis-server.ts'
import { startOfficialClient } from '../../helpers/official-client.ts'
import { startService } from '../../helpers/service.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { completion, sendJson } from '../../helpers/upstream-server.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

const registrations = { 'templates:greet': 'Hello' }
const caller: Caller = { ...ANYONE, name: 'ide', limits: { requests: 10, tokens: 100 } }

describe('a limit of requests', () => {
  it('is told in headers, and beyond it the answer is 429 with Retry-After', async t => {
    const { get } = await startService(t, registrations, { API_TOKENS: tokenEntry('ide', 'read:requests=2') })
    const replies = [await get('/api/prompts', bearer('ide')), await get('/api/prompts', bearer('ide')), await get('/api/prompts', bearer('ide'))]
    assert.deepEqual(replies.map(({ status }) => status), [200, 200, 429])
    assert.deepEqual(replies.map(({ headers }) => headers['x-ratelimit-remaining-requests']), ['1', '0', '0'])
    const refused = replies[2]
    assert.deepEqual([refused?.json['code'], refused?.json['details']], ['RATE_LIMITED', { token: 'ide', limit: 2, what: 'requests' }])
    assert.ok(Number(refused?.headers['retry-after']) >= 1 && Number(refused?.headers['retry-after']) <= 60)
    assert.match(String(refused?.headers['x-ratelimit-reset-requests']), /^\d+s$/)
  })

  it('is each token\'s own; the default is for those that name none', async t => {
    const { get } = await startService(t, registrations, { RATE_LIMIT_REQUESTS: '1', API_TOKENS: `${tokenEntry('a', 'read')}\n${tokenEntry('b', 'read:requests=5')}` })
    await get('/api/prompts', bearer('a'))
    assert.equal((await get('/api/prompts', bearer('a'))).status, 429)
    assert.equal((await get('/api/prompts', bearer('b'))).headers['x-ratelimit-limit-requests'], '5')
  })

  it('does not count what is refused, nor health', async t => {
    const { get, app } = await startService(t, registrations, { API_TOKENS: tokenEntry('ide', 'read:requests=1') })
    for (let count = 0; count < 3; count++) await app.inject({ url: '/healthz', headers: bearer('ide') })
    assert.equal((await get('/v1/models', bearer('ide'))).status, 403)
    assert.equal((await get('/api/prompts', bearer('ide'))).status, 200)
  })
})

describe('a limit of model tokens', () => {
  for (const stream of [false, true]) {
    it(`refuses the call after the one that used it up${stream ? ', when that was a stream' : ''}`, async t => {
      const { origin } = await startOfficialClient(t, (_hit, response) => sendJson(response, 200, { ...completion('Hello'), usage: { prompt_tokens: 60, completion_tokens: 50, total_tokens: 110 } }), registrations,
        { API_TOKENS: tokenEntry('ide', 'chat:tokens=100'), ...(stream ? { LLM_BASE_URL: 'builtin:echo' } : {}) })
      const chat = async () => {
        const reply = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers: { ...bearer('ide'), 'content-type': 'application/json' }, body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'word '.repeat(200) }] }) })
        await reply.text()
        return reply
      }
      assert.equal((await chat()).status, 200)
      const refused = await waitFor('the use to be counted', async () => {
        const reply = await chat()
        return reply.status === 429 && reply
      })
      assert.equal(refused.headers.get('x-ratelimit-remaining-tokens'), '0')
    })
  }
})

describe('a minute', () => {
  it('begins with the whole limit, whatever the last one used', () => {
    let now = 60_000
    const rates = new Rates({ shared: undefined, prefix: 'x:', now: () => now })
    rates.count(caller, 'requests', 10)
    now += 59_999
    assert.deepEqual(rates.remaining(caller, 'requests'), { limit: 10, remaining: 0, seconds: 1 })
    now += 1
    assert.deepEqual(rates.remaining(caller, 'requests'), { limit: 10, remaining: 10, seconds: 60 })
  })
})

describe('replicas over one Redis', () => {
  let redis: RedisServer
  before(async () => { redis = await startRedisServer() })
  after(() => redis.stop())
  const replica = () => new Rates({ shared: createRedisCounters({ url: redis.url, log: quietLog() }), prefix: 'shenma:rates:', now: () => 90_000 })

  const toldOf = async (key: string) => (await redis.client.hvals(`shenma:rates:${key}:1`)).reduce((total, count) => total + Number(count), 0)

  it('count together, and go on by themselves while Redis is away', async t => {
    const [one, other] = [replica(), replica()]
    t.after(() => Promise.all([one.close(), other.close()]))
    one.count(caller, 'requests', 4)
    await waitFor('the count of one to be told', async () => await toldOf('requests:ide') === 4)
    other.count(caller, 'requests', 1)
    await waitFor('the other to know of it', () => other.remaining(caller, 'requests')?.remaining === 5)

    await redis.kill()
    other.count(caller, 'requests', 5)
    assert.equal(other.remaining(caller, 'requests')?.remaining, 0)
    one.count(caller, 'requests', 1)
    assert.equal(one.remaining(caller, 'requests')?.remaining, 5)

    await redis.restart()
    await waitFor('all that was counted to be told', async () => {
      // Whoever could not tell tries again with the next count.
      for (const each of [one, other]) each.count(caller, 'requests', 0)
      return await toldOf('requests:ide') === 11
    })
  })

  it('count each use once, also while that of others cannot be counted', async t => {
    const one = replica()
    t.after(() => one.close())
    const [lucky, unlucky] = ['lucky', 'unlucky'].map(name => ({ ...caller, name })) as [Caller, Caller]
    await redis.client.set('shenma:rates:requests:unlucky:1', 'no number')
    one.count(unlucky, 'requests', 1)
    one.count(lucky, 'requests', 4)
    await waitFor('the count to be told', async () => await toldOf('requests:lucky') === 4)
    one.count(lucky, 'requests', 1)
    assert.equal(await waitFor('the next one', async () => {
      const told = await toldOf('requests:lucky')
      return told !== 4 && told
    }), 5)
  })

  it('count each use once that a frozen Redis hears of later', async t => {
    const own = await startRedisServer()
    t.after(own.stop)
    const troubles: unknown[] = []
    const log = quietLog({ warn: (_fields: unknown, message?: string) => { troubles.push(message) } })
    const one = new Rates({ shared: createRedisCounters({ url: own.url, log, commandTimeout: 100 }), prefix: 'shenma:rates:', now: () => 90_000 })
    t.after(() => one.close())
    const told = async () => Object.values(await own.client.hgetall('shenma:rates:requests:ide:1')).join()
    one.count(caller, 'requests', 1)
    await waitFor('the count to be told', async () => await told() === '1')
    await own.pause()
    one.count(caller, 'requests', 2)
    await waitFor('Redis not to answer', () => troubles.length > 0)
    await own.resume()
    await waitFor('what it did not answer to be heard', async () => await told() !== '1')
    one.count(caller, 'requests', 4)
    await waitFor('the next count to be told', async () => Number(await told()) >= 7)
    assert.deepEqual([await told(), one.remaining(caller, 'requests')?.remaining], ['7', 3])
  })

  it('leave keys that end by themselves', async t => {
    const one = replica()
    t.after(() => one.close())
    one.count(caller, 'tokens', 7)
    const left = await waitFor('the count to be told', async () => await redis.client.exists('shenma:rates:tokens:ide:1') === 1 && await redis.client.pttl('shenma:rates:tokens:ide:1'))
    assert.ok(left > 0 && left <= 120_000)
  })
})
