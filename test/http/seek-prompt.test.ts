import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

const SLOW = { POLL_INTERVAL_MS: '60000', LLM_BASE_URL: 'builtin:echo' }

describe('a prompt that was stored a moment ago', () => {
  const requests: ReadonlyArray<readonly [method: 'GET' | 'POST', url: string, payload?: object]> = [
    ['POST', '/api/render/prompts/fresh.one'],
    ['POST', '/api/render/prompts/fresh:one'],
    ['POST', '/api/chat/prompts/fresh.one'],
    ['GET', '/api/prompts/fresh.one'],
    ['POST', '/v1/chat/completions', { prompt: { id: 'fresh.one' } }]
  ]
  for (const [method, url, payload] of requests) {
    it(`is found by ${method} ${url}`, async t => {
      const { app, store } = await startService(t, {}, SLOW)
      store.setSilently('shenma:templates:fresh:one', 'Hi')
      assert.equal((await app.inject({ method, url, ...(method === 'POST' ? { payload: payload ?? {} } : {}) })).statusCode, 200)
    })
  }

  it('is not looked for where the patterns of a token hide it', async t => {
    const { app, store } = await startService(t, {}, { ...SLOW, API_TOKENS: tokenEntry('a', 'render:prompts=other.*') })
    store.setSilently('shenma:templates:fresh:one', 'Hi')
    const reply = await app.inject({ method: 'POST', url: '/api/render/prompts/fresh.one', headers: bearer('a'), payload: {} })
    assert.equal(reply.statusCode, 404)
  })

  it('is still 404 when it is not there', async t => {
    const { post } = await startService(t, {}, SLOW)
    assert.equal((await post('/api/render/prompts/none', {})).status, 404)
  })
})
