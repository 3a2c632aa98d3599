import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { type Budget } from '../../src/config/operator.ts'
import { parsePrices } from '../../src/llm/prices.ts'
import { Prices, type TokenCounts } from '../../src/observe/prices.ts'
import { Budgets } from '../../src/service/budgets.ts'
import { CountedModels } from '../../src/service/chat/models.ts'
import { UsageLedger } from '../../src/service/usage.ts'
import { createRedisUsage } from '../../src/store/redis/redis-usage.ts'
import { MemoryUsage, OTHERS, type UsageStore } from '../../src/store/usage-store.ts'
import { createModelClient } from '../helpers/model-client.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { shared } from '../helpers/shared.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const JANUARY = Date.UTC(2026, 0, 31, 23, 59, 59)
const USED = { inputTokens: 10, outputTokens: 5, isEstimate: false }
const by = (token: string, prompt = 'p') => ({ caller: { ...ANYONE, name: token }, prompt })
const redis = shared(async suite => {
  const server: RedisServer = await startRedisServer()
  suite.after(() => server.stop())
  return server
})

/** As replicas have it, each over connections of its own. */
async function openShared (t: { after (work: () => unknown): void }, prefix = `${randomUUID()}:`): Promise<UsageStore> {
  const usage = createRedisUsage({ url: (await redis()).url, log: quietLog(), prefix })
  t.after(() => usage.close())
  return usage
}

describe('a price', () => {
  const prices = new Prices({ date: '2026-01-01', models: { m: { input: 1, cached: 0.5, output: 4, reasoning: 2 }, plain: { input: 2, output: 3 }, embed: { input: 0.02 } } })
  const costs: ReadonlyArray<readonly [name: string, model: string, usage: TokenCounts, usd: number | undefined]> = [
    ['counts input and output', 'plain', { inputTokens: 1000, outputTokens: 100 }, 0.0023],
    ['counts cached and reasoning tokens by their own prices', 'm', { inputTokens: 1000, cachedTokens: 400, outputTokens: 100, reasoningTokens: 60 }, 0.00108],
    ['takes those of the input and output where there are no others', 'plain', { inputTokens: 1000, cachedTokens: 400, outputTokens: 100, reasoningTokens: 60 }, 0.0023],
    ['is of a dated model, too', 'plain-2025-04-14', { inputTokens: 1_000_000, outputTokens: 0 }, 2],
    ['has no output for embeddings', 'embed', { inputTokens: 1_000_000, outputTokens: 7 }, 0.02],
    ['is never taken from a longer or shorter name', 'plain-large', { inputTokens: 1, outputTokens: 1 }, undefined],
    ['is none for a name that every object has', 'constructor', { inputTokens: 1, outputTokens: 1 }, undefined],
    ['does not fall below nothing where more was cached than sent', 'm', { inputTokens: 1, cachedTokens: 2, outputTokens: 0 }, 0.000001]
  ]
  for (const [name, model, usage, usd] of costs) {
    it(name, () => assert.equal(prices.costOf(model, usage), usd === undefined ? undefined : Math.round(usd * 1e9)))
  }

  const wrong: ReadonlyArray<readonly [name: string, text: string, message: RegExp]> = [
    ['that is no number', 'date: 2026-01-01\nmodels: { m: { input: cheap } }', /models\.m\.input must be number/],
    ['that is no number of any size', 'date: "2026-01-01"\nmodels: { m: { input: .nan } }', /models\.m\.input must be/],
    ['without an end', 'date: "2026-01-01"\nmodels: { m: { input: .inf } }', /models\.m\.input must be/],
    ['below nothing', 'date: "2026-01-01"\nmodels: { m: { input: -1 } }', /models\.m\.input must be >= 0/],
    ['without its day', 'models: {}', /date/],
    ['in a text that is none', '{', /neither JSON nor YAML/]
  ]
  for (const [name, text, message] of wrong) it(`${name} is refused`, () => assert.throws(() => parsePrices(text), message))

  it('of a file comes before the built-in one, which stays for other models', () => {
    const read = parsePrices('date: "2026-01-01"\nmodels: { gpt-4o: { input: 1, output: 1 } }')
    assert.deepEqual([read.costOf('gpt-4o', { inputTokens: 1, outputTokens: 1 }), read.costOf('gpt-4.1', { inputTokens: 1, outputTokens: 0 })], [2000, 2000])
  })
})

describe('usage', () => {
  it('is summed over what is not asked for', async () => {
    const ledger = new UsageLedger(new Prices(), undefined, () => JANUARY)
    ledger.count({ ...by('ide'), activity: { promptVersion: 7, promptLabel: 'production' } }, 'gpt-4o', USED, 700)
    ledger.count(by('ide', 'q'), 'gpt-4o', USED, 700)
    ledger.count(by('bot'), 'unknown', { ...USED, isEstimate: true }, 700)
    const rows = await ledger.read('2026-01-31', '2026-01-31', ['token'])
    assert.deepEqual(rows.map(({ token, prompt, calls, unpricedCalls, estimatedTokens, cost }) => [token, prompt, calls, unpricedCalls, estimatedTokens, cost]), [['ide', '', 2, 0, 0, 150_000], ['bot', '', 1, 1, 15, 0]])
    assert.deepEqual((await ledger.read('2026-01-31', '2026-01-31', ['version', 'label', 'model'])).map(({ version, label, model }) => [version, label, model]), [['7', 'production', 'gpt-4o'], ['', '', 'gpt-4o'], ['', '', 'unknown']])
    assert.deepEqual(await ledger.read('2026-02-01', '2026-02-02', ['day']), [])
  })

  it('does not grow with the names that callers make up', async () => {
    const ledger = new UsageLedger(new Prices(), undefined, () => JANUARY)
    for (let call = 0; call < 20_000; call++) ledger.count(by('ide'), `model-${call}-${'m'.repeat(300)}`, USED, 700)
    const rows = await ledger.read('2026-01-31', '2026-01-31', ['model'])
    assert.deepEqual([rows.length, rows.at(-1)?.model, rows.at(-1)?.calls, rows[0]?.model.length], [5001, '(others)', 15_000, 200])
  })

  const STORES: ReadonlyArray<readonly [name: string, open: (t: { after (work: () => unknown): void }) => Promise<UsageStore> | UsageStore]> = [
    ['in memory', () => new MemoryUsage()], ['in Redis', t => openShared(t)]
  ]
  for (const [name, open] of STORES) {
    it(`adds up what is reported piece by piece ${name}, also where counts were added since`, async t => {
      const store = await open(t)
      await store.add('2026-01-31', new Map([['["a"]', [1, 0, 0, 5]]]), 'report-1')
      await store.add('2026-01-31', new Map([['["a"]', [2, 1, 0, 5, 0, 0, 9_000_000_000_000, 0]], ['["b"]', [1]]]), 'report-2')
      const rows = await store.read('2026-01-31')
      assert.deepEqual([...rows].sort(), [['["a"]', [3, 1, 0, 10, 0, 0, 9_000_000_000_000, ...name === 'in memory' ? [0] : []]], ['["b"]', [1]]])
      assert.deepEqual([...await store.read('2026-01-30')], [])
    })

    it(`keeps the names that callers make up within bounds ${name}, over many reports`, async t => {
      const store = await open(t)
      for (let report = 0; report < 6; report++) {
        await store.add('2026-01-31', new Map(Array.from({ length: 1000 }, (_, index) => [`["m${report}-${index}"]`, [1, 0, 7]])), `report-${report}`)
      }
      const rows = await store.read('2026-01-31')
      assert.deepEqual([rows.size, rows.get(OTHERS)], [5001, [1000, 0, 7000]])
    })
  }

  it('tells errors, and within which bound 95 of 100 answers came', async () => {
    const ledger = new UsageLedger(new Prices(), undefined, () => JANUARY)
    const row = async () => (await ledger.read('2026-01-31', '2026-01-31', ['prompt'], { prompt: 'p' }))[0]
    for (const end of ['failed', 'left'] as const) ledger.count(by('ide'), 'gpt-4o', USED, end)
    const told = async () => {
      const { calls, errors, timedCalls, p95 } = await row() ?? {}
      return [calls, errors, timedCalls, p95]
    }
    assert.deepEqual(await told(), [2, 1, 0, undefined])
    for (let call = 0; call < 95; call++) ledger.count(by('ide'), 'gpt-4o', USED, 700)
    for (let call = 0; call < 5; call++) ledger.count(by('ide'), 'gpt-4o', USED, 40_000)
    assert.deepEqual(await told(), [102, 1, 100, 1000])
    ledger.count(by('ide'), 'gpt-4o', USED, 40_000)
    assert.deepEqual(await told(), [103, 1, 101, 60_000])
    for (let call = 0; call < 20; call++) ledger.count(by('ide'), 'gpt-4o', USED, 700_000)
    assert.deepEqual(await told(), [123, 1, 121, Infinity])
    ledger.count(by('ide', 'q'), 'gpt-4o', USED, 1)
    assert.deepEqual(await told(), [123, 1, 121, Infinity])
  })

  it('puts the failures of models that nobody knows into one row', async () => {
    const ledger = new UsageLedger(new Prices(), undefined, () => JANUARY)
    ledger.expect(['configured'])
    ledger.count(by('ide'), 'answered', USED, 700)
    for (const model of ['made-up-1', 'made-up-2', 'configured', 'answered']) ledger.count(by('ide'), model, { ...USED, inputTokens: 0, outputTokens: 0 }, 'failed')
    const rows = await ledger.read('2026-01-31', '2026-01-31', ['model'])
    assert.deepEqual(rows.map(({ model, calls, errors }) => [model, calls, errors]), [['answered', 2, 1], ['(others)', 2, 2], ['configured', 1, 1]])
  })

  it('of each day is the one on which a call ended, whichever way the clock jumps', async () => {
    let now = JANUARY
    const ledger = new UsageLedger(new Prices(), undefined, () => now)
    const calls = async () => (await ledger.read('2026-01-31', '2026-02-01', ['day'])).map(({ day, calls: count }) => [day, count])
    for (const jump of [2000, -2000, 366 * 86_400_000, -366 * 86_400_000]) {
      ledger.count(by('ide'), 'gpt-4o', USED, 700)
      await calls()
      now += jump
    }
    assert.deepEqual(await calls(), [['2026-01-31', 2], ['2026-02-01', 1]])
  })

  it('is told alike by all replicas, with what was not reported yet', async t => {
    const prefix = `${randomUUID()}:`
    const replicas = [await openShared(t, prefix), await openShared(t, prefix)].map(usage => new UsageLedger(new Prices(), usage, () => JANUARY))
    for (const ledger of replicas) for (let call = 0; call < 3; call++) ledger.count(by('ide'), 'gpt-4o', USED, 700)
    const calls = async (ledger: UsageLedger | undefined) => (await ledger?.read('2026-01-31', '2026-01-31', ['model']))?.[0]?.calls
    assert.equal(await calls(replicas[0]), 3)
    await waitFor('both to have reported', async () => await calls(replicas[0]) === 6 && await calls(replicas[1]) === 6)
  })

  it('counts a report once that is sent again, and keeps it 91 days', async t => {
    const prefix = `${randomUUID()}:`
    const usage = await openShared(t, prefix)
    for (let time = 0; time < 3; time++) await usage.add('2026-01-31', new Map([['["ide"]', [1, 0, 7]]]), 'report-1')
    assert.deepEqual([...await usage.read('2026-01-31')], [['["ide"]', [1, 0, 7]]])
    const left = await (await redis()).client.pttl(`${prefix}usage:days:{2026-01-31}`)
    assert.ok(left > 90 * 86_400_000 && left <= 91 * 86_400_000, `${left}`)
  })
})

const budget = (given: Partial<Budget>): Budget => ({ name: 'team', tokens: undefined, prompts: undefined, period: 'day', unit: 'tokens', most: 1000, ...given })

describe('50 calls at once over two replicas', () => {
  it('pass a budget by one at most, and leave what failed ones held, which are counted as errors', async t => {
    const prefix = `${randomUUID()}:`
    const held: Array<() => void> = []
    let [asked, isOpen] = [0, false]
    // None is answered before all others are refused; then every second one fails.
    const upstream = await startUpstream((_hit, response) => {
      const isBad = ++asked % 2 === 0
      const answer = () => { sendJson(response, isBad ? 503 : 200, isBad ? {} : { ...completion('ok'), usage: { prompt_tokens: 50, completion_tokens: 30 } }) }
      if (isOpen) answer()
      else held.push(answer)
    })
    const client = createModelClient({ baseUrl: upstream.baseUrl, retry: { delays: [], wait: async () => {} } })
    t.after(async () => {
      await upstream.close()
      await client.close()
    })
    const replicas = await Promise.all([0, 1].map(async () => {
      const store = await openShared(t, prefix)
      const budgets = new Budgets([budget({})], new Prices(), store)
      const ledger = new UsageLedger(new Prices(), store)
      return { budgets, ledger, models: new CountedModels(client, ledger, undefined, budgets) }
    }))
    const request = { model: 'm', max_tokens: 50, messages: [{ role: 'user', content: 'word'.repeat(96) }] }
    const ask = (index: number) => replicas[index % 2]?.models.ask({ kind: 'chat', request, call: { ...by('ide'), signal: new AbortController().signal, requestId: 'r' } })
    const calls = Array.from({ length: 50 }, (_, index) => ask(index))
    let count = 0
    const onFailed = ({ code }: { readonly code: string }): void => {
      if (code !== 'BUDGET_USED' || ++count < 43) return
      isOpen = true
      for (const answer of held) answer()
    }
    for (const call of calls) call?.catch(onFailed)
    const outcomes = await Promise.allSettled(calls)
    const codes = outcomes.map(outcome => outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as { code: string }).code)
    assert.deepEqual([asked, ...['ok', 'LLM_UPSTREAM', 'BUDGET_USED'].map(code => codes.filter(each => each === code).length)], [7, 4, 3, 43])
    const day = new Date().toISOString().slice(0, 10)
    const told = async () => {
      const [row] = await replicas[0]?.ledger.read(day, day, ['token']) ?? []
      const [state] = await replicas[1]?.budgets.list() ?? []
      return [row?.calls, row?.errors, row?.timedCalls, row?.inputTokens, state?.used].join()
    }
    await waitFor('both to have reported', async () => await told() === '7,3,4,200,320')
  })
})

describe('a budget', () => {
  for (const isShared of [false, true]) {
    it(`is passed by one call at most, of 50 at once${isShared ? ' over two replicas' : ''}`, async t => {
      const prefix = `${randomUUID()}:`
      const replicas = await Promise.all([0, 1].map(async () => new Budgets([budget({})], new Prices(), isShared ? await openShared(t, prefix) : undefined)))
      const calls = Array.from({ length: 50 }, (_, index) => (replicas[isShared ? index % 2 : 0] as Budgets).reserve(by('ide'), 'any', 100, 50))
      const outcomes = await Promise.allSettled(calls)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 7)
      for (const outcome of outcomes) if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'BUDGET_USED')
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') outcome.value?.settle({ inputTokens: 10, outputTokens: 10 }, undefined)
      // Seven calls have used 140 in place of the 1,050 that they held.
      await waitFor('what was held to be free again', async () => await replicas[0]?.reserve(by('ide'), 'any', 100, 50).then(() => true, () => false))
    })
  }

  const cases: ReadonlyArray<readonly [name: string, given: Partial<Budget>, by: ReturnType<typeof by>, isBound: boolean]> = [
    ['of a token binds it', { tokens: ['ide'] }, by('ide'), true],
    ['of another token does not', { tokens: ['bot'] }, by('ide'), false],
    ['of a prompt binds it', { prompts: ['team.*'] }, by('ide', 'team.review'), true],
    ['of a definition binds its sessions', { prompts: ['agents.helper'] }, by('ide', 'agents/helper'), true],
    ['of other prompts does not', { prompts: ['team.*'] }, by('ide', 'greet'), false]
  ]
  for (const [name, given, used, isBound] of cases) {
    it(name, async () => {
      const budgets = new Budgets([budget({ ...given, most: 1 })], new Prices())
      await budgets.reserve(used, 'any', 1, 1)
      const second = budgets.reserve(used, 'any', 1, 1)
      if (isBound) await assert.rejects(second, { code: 'BUDGET_USED' })
      else assert.equal(await second, undefined)
    })
  }

  it('begins anew with the month, and a call that lasts into it counts for the old one', async () => {
    let now = JANUARY
    const budgets = new Budgets([budget({ period: 'month', most: 10 })], new Prices(), undefined, () => now)
    const call = await budgets.reserve(by('ide'), 'any', 10, 1)
    await assert.rejects(budgets.reserve(by('ide'), 'any', 1, 1), { code: 'BUDGET_USED', details: { budget: 'team', bound: '10 tokens a month', used: 11, ends: '2026-02-01T00:00:00.000Z' } })
    now += 2000
    call?.settle({ inputTokens: 1000, outputTokens: 0 }, undefined)
    assert.notEqual(await budgets.reserve(by('ide'), 'any', 1, 1), undefined)
  })

  for (const isShared of [false, true]) {
    it(`stays used up when the clock jumps over a month's end and back${isShared ? ', over Redis' : ''}`, async t => {
      let now = JANUARY
      const budgets = new Budgets([budget({ period: 'month', most: 10 })], new Prices(), isShared ? await openShared(t) : undefined, () => now)
      await budgets.reserve(by('ide'), 'any', 10, 1)
      now += 2000
      await budgets.reserve(by('ide'), 'any', 10, 1)
      now -= 2000
      await assert.rejects(budgets.reserve(by('ide'), 'any', 1, 1), { code: 'BUDGET_USED' })
      assert.deepEqual((await budgets.list()).map(({ used, ends }) => [used, ends]), [[11, Date.UTC(2026, 1)]])
    })
  }

  it('is listed to the tokens that it binds, with what is used and held', async () => {
    const budgets = new Budgets([budget({ tokens: ['ide'] }), budget({ name: 'all', prompts: ['p'] })], new Prices(), undefined, () => JANUARY)
    const call = await budgets.reserve(by('ide'), 'any', 100, 50)
    await budgets.reserve(by('bot'), 'any', 100, 50)
    call?.settle({ inputTokens: 20, outputTokens: 10 }, undefined)
    const listed = async (token?: string) => (await budgets.list(token === undefined ? undefined : by(token).caller)).map(({ name, used }) => [name, used])
    assert.deepEqual(await listed(), [['team', 30], ['all', 180]])
    assert.deepEqual(await listed('bot'), [['all', 180]])
  })

  for (const isShared of [false, true]) {
    it(`tells of 80 % and 100 % once${isShared ? ' in each replica, of what both have used' : ''}, and again in the next period`, async t => {
      const prefix = `${randomUUID()}:`
      let now = JANUARY
      const told: string[] = []
      const tell = async (_budget: Budget, key: string, percent: number, used: number, ends: number): Promise<void> => { told.push(`${key} ${percent} ${used} ${new Date(ends).toISOString().slice(0, 10)}`) }
      const replicas = await Promise.all([0, 1].map(async () => new Budgets([budget({ most: 100 })], new Prices(), isShared ? await openShared(t, prefix) : undefined, () => now)))
      for (const replica of replicas) replica.onLevel(tell)
      const use = async (replica: number, tokens: number): Promise<void> => (await replicas[replica]?.reserve(by('ide'), 'any', 0, 1))?.settle({ inputTokens: tokens, outputTokens: 0 }, undefined)
      await use(0, 79)
      await waitFor('its usage', async () => (await replicas[0]?.list())?.[0]?.used === 79)
      await use(isShared ? 1 : 0, 2)
      await waitFor('80 %', () => told.length === 1)
      await use(0, 30)
      const day = 'team:tokens:day:2026-01-31'
      const all = [`${day} 80 81 2026-02-01`, ...isShared ? [`${day} 80 81 2026-02-01`] : [], `${day} 100 111 2026-02-01`]
      await waitFor('100 %', () => told.length === all.length)
      await assert.rejects(use(0, 1), { code: 'BUDGET_USED' })
      now += 2000
      await use(0, 85)
      await waitFor('80 % of the next day', () => told.length === all.length + 1)
      assert.deepEqual(told, [...all, 'team:tokens:day:2026-02-01 80 85 2026-02-02'])
    })
  }

  it('tells of a level again with the next call when that could not be kept', async () => {
    let told = 0
    const tell = async (): Promise<void> => { if (++told === 1) throw new Error('the store is away') }
    const budgets = new Budgets([budget({ most: 100 })], new Prices(), undefined, () => JANUARY)
    budgets.onLevel(tell)
    for (let call = 0; call < 3; call++) (await budgets.reserve(by('ide'), 'any', 0, 1))?.settle({ inputTokens: call === 0 ? 85 : 1, outputTokens: 0 }, undefined)
    await waitFor('the second attempt', () => told === 2)
  })

  it('in USD refuses a model whose price nobody knows', async () => {
    const budgets = new Budgets([budget({ unit: 'usd', most: 1e9 })], new Prices())
    await assert.rejects(budgets.reserve(by('ide'), 'house-model', 1, 1), { code: 'PRICE_UNKNOWN', details: { model: 'house-model', budget: 'team' } })
    assert.notEqual(await budgets.reserve(by('ide'), 'gpt-4o', 1, 1), undefined)
  })

  it('in USD and in tokens holds each by itself', async () => {
    const budgets = new Budgets([budget({ unit: 'usd', most: 1e9 }), budget({ most: 100 })], new Prices())
    const call = await budgets.reserve(by('ide'), 'gpt-4o', 50, 10)
    call?.settle({ inputTokens: 50, outputTokens: 10 }, 225_000)
    assert.notEqual(await budgets.reserve(by('ide'), 'gpt-4o', 50, 10), undefined)
    await assert.rejects(budgets.reserve(by('ide'), 'gpt-4o', 1, 1), { message: /^Budget "team" of 100 tokens a day is used up, with 120 used and held; / })
  })

  it('that refuses gives back what other budgets hold for the call', async () => {
    const budgets = new Budgets([budget({ name: 'wide', most: 100 }), budget({ name: 'narrow', most: 1, prompts: ['q'] })], new Prices())
    await budgets.reserve(by('ide', 'q'), 'any', 20, 20)
    for (let call = 0; call < 9; call++) await assert.rejects(budgets.reserve(by('ide', 'q'), 'any', 20, 20), { message: /^Budget "narrow" of 1 tokens a day is used up, with 40 used and held; / })
    assert.notEqual(await budgets.reserve(by('ide'), 'any', 20, 20), undefined)
  })

  it('is counted by each replica alone while Redis is away', async () => {
    const away = createRedisUsage({ url: 'redis://127.0.0.1:1', log: quietLog(), prefix: 'x:' })
    const budgets = new Budgets([budget({ most: 100 })], new Prices(), away)
    await budgets.reserve(by('ide'), 'any', 100, 1)
    await assert.rejects(budgets.reserve(by('ide'), 'any', 1, 1), { code: 'BUDGET_USED' })
    await away.close()
  })
})
