import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Answer, completion, sendJson } from '../helpers/upstream-server.ts'
import { startOfficialClient } from '../helpers/official-client.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const answers: Answer = ({ body }, response) => { sendJson(response, body.includes('broken') ? 400 : 200, completion('ok')) }

/** `ide` may use 100 tokens a day; each answer uses 29. */
const open = shared(async suite => {
  const folder = await createTemporaryFolder()
  suite.after(folder.remove)
  await folder.write('operator.yaml', 'budgets: { team: { tokens: [ide], day: { tokens: 100 } }, unpriced: { prompts: [dear], month: { usd: 0.5 } } }')
  const tokens = [tokenEntry('ide', 'chat'), tokenEntry('bot', 'chat'), tokenEntry('boss', 'read+chat')].join('\n')
  return await startOfficialClient(suite, answers, {
    'templates:hi': { userPrompt: 'Hi' }, 'templates:dear': { userPrompt: 'Hi', defaults: { model: 'house-model' } }
  }, { API_TOKENS: tokens, OPERATOR_FILE: join(folder.path, 'operator.yaml') })
})

describe('a chat', () => {
  it('says what it cost, or that nobody knows', async () => {
    const { service } = await open()
    assert.match(String((await service.post('/api/chat/prompts/hi', {}, bearer('bot'))).headers['x-cost']), /^usd=0\.000\d{6}$/)
  })

  it('beyond a budget is refused with words, and with when to come again', async () => {
    const { service, upstream } = await open()
    const statuses: number[] = []
    let last = await service.post('/api/chat/prompts/hi', { max_tokens: 10 }, bearer('ide'))
    for (; last.status === 200; last = await service.post('/api/chat/prompts/hi', { max_tokens: 10 }, bearer('ide'))) statuses.push(last.status)
    const asked = upstream.hits.length
    assert.deepEqual([last.status, last.json['code'], statuses.length], [429, 'BUDGET_USED', 4])
    assert.match(String(last.json['message']), /^Budget "team" of 100 tokens a day is used up, with 116 used and held; it begins anew at \d{4}-\d{2}-\d{2}T00:00:00\.000Z$/)
    assert.ok(Number(last.headers['retry-after']) > 0 && last.headers['x-should-retry'] === 'false')
    const raw = await service.post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, bearer('ide'))
    assert.deepEqual([raw.status, (raw.json['error'] as Record<string, unknown>)['code'], upstream.hits.length], [429, 'BUDGET_USED', asked])
    assert.equal((await service.post('/api/chat/prompts/hi', {}, bearer('bot'))).status, 200)
  })

  it('of a model without a price is refused where the budget is in USD', async () => {
    const { status, json } = await (await open()).service.post('/api/chat/prompts/dear', {}, bearer('bot'))
    assert.deepEqual([status, json['code']], [403, 'PRICE_UNKNOWN'])
  })
})

describe('GET /api/usage', () => {
  it('tells a token its own rows, and who sees all entries those of all', async () => {
    const { service } = await open()
    await service.post('/api/chat/prompts/hi', {}, bearer('boss'))
    const rows = async (name: string) => ((await service.get('/api/usage?by=token', bearer(name))).json['rows'] as unknown as Array<{ token: string }>).map(({ token }) => token).sort()
    assert.deepEqual(await rows('bot'), ['bot'])
    assert.deepEqual(await rows('boss'), ['boss', 'bot', 'ide'])
  })

  it('tells a token whose calls it sees, and nothing of others, also where it asks for them', async () => {
    const { service } = await open()
    const { json } = await service.get('/api/usage?by=token&token=boss', bearer('bot'))
    assert.deepEqual([json['ofToken'], json['rows']], ['bot', []])
    assert.equal((await service.get('/api/usage', bearer('boss'))).json['ofToken'], undefined)
  })

  it('tells of one prompt its versions, with errors and how long answers took', async () => {
    const { service } = await open()
    await service.post('/api/chat/prompts/hi', { model: 'broken' }, bearer('bot'))
    const { rows } = (await service.get('/api/usage?by=prompt,version,label&prompt=hi&token=bot', bearer('boss'))).json as unknown as { rows: Array<Record<string, unknown>> }
    const [row] = rows
    assert.deepEqual([rows.length, row?.['prompt'], row?.['version'], row?.['errors'], Number(row?.['calls']) - Number(row?.['timedCalls'])], [1, 'hi', '', 1, 1])
    assert.ok([250, 500, 1000, 2500, 5000].includes(Number(row?.['p95Ms'])), JSON.stringify(row))
  })

  const wrong: ReadonlyArray<readonly [query: string, message: RegExp]> = [
    ['by=day,colour', /by: expected names out of day, token, .*, got "colour"/],
    ['from=2026-02-31', /from and to/],
    ['from=2026-03-01&to=2026-02-01', /from and to: expected at most 90 days in order/],
    ['from=2025-01-01&to=2026-02-01', /from and to: expected at most 90 days in order/],
    ['from=yesterday', /from must match pattern/]
  ]
  for (const [query, message] of wrong) {
    it(`refuses ${query}`, async () => {
      const { status, json } = await (await open()).service.get(`/api/usage?${query}`, bearer('boss'))
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
      assert.match(String(json['message']), message)
    })
  }
})

describe('GET /api/usage/budgets', () => {
  it('tells a token those that bind it, and who sees all entries all of them', async () => {
    const { service } = await open()
    const listed = async (name: string) => ((await service.get('/api/usage/budgets', bearer(name))).json['budgets'] as unknown as Array<Record<string, unknown>>)
      .map(({ name: budget, period, unit, most, tokens, prompts }) => [budget, period, unit, most, tokens, prompts])
    const unpriced = ['unpriced', 'month', 'usd', 0.5, undefined, ['dear']]
    assert.deepEqual(await listed('boss'), [['team', 'day', 'tokens', 100, ['ide'], undefined], unpriced])
    assert.deepEqual(await listed('bot'), [unpriced])
    const [team] = (await service.get('/api/usage/budgets', bearer('ide'))).json['budgets'] as unknown as Array<Record<'used' | 'ends', unknown>>
    assert.ok(Number(team?.used) >= 100 && /T00:00:00\.000Z$/.test(String(team?.ends)), JSON.stringify(team))
  })
})
