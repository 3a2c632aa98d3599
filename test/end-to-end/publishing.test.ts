import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { type Readiness } from '../helpers/redis-service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

const KEY = 'shenma:templates:review:short'

describe('publishing over HTTP to a Redis', () => {
  let redis: RedisServer

  before(async () => { redis = await startRedisServer() })
  after(() => redis.stop())
  beforeEach(() => redis.client.flushall())

  it('stores what was put byte for byte, and every replica serves it', async t => {
    const [one, other] = await Promise.all([startProcess(t, { REDIS_URL: redis.url }), startProcess(t, { REDIS_URL: redis.url, POLL_INTERVAL_MS: '100' })])
    const text = '{ "userPrompt": "Review {{variables.code}}" }'
    const created = await send(one.url, 'PUT', text)
    assert.equal(created.status, 201)
    assert.equal(await redis.client.get(KEY), text)

    assert.equal(await render(one.url), 'Review x')
    await waitFor('the other replica to serve it', async () => await render(other.url) === 'Review x')
    assert.equal((await fetch(`${other.url}/api/prompts/review.short`)).headers.get('etag'), created.headers.get('etag'))
  })

  it('refuses with 412 to replace or remove what redis-cli has written since', async t => {
    const { url } = await startProcess(t, { REDIS_URL: redis.url })
    const etag = (await send(url, 'PUT', '"first"')).headers.get('etag') ?? ''
    await redis.client.set(KEY, 'by hand')
    for (const [method, body] of [['PUT', '"second"'], ['DELETE', undefined]] as const) {
      const reply = await send(url, method, body, { 'if-match': etag })
      assert.deepEqual([reply.status, (await reply.json() as { code: string }).code], [412, 'ENTRY_CHANGED'])
    }
    assert.equal(await redis.client.get(KEY), 'by hand')
  })

  it('removes what was put', async t => {
    const { url } = await startProcess(t, { REDIS_URL: redis.url })
    const etag = (await send(url, 'PUT', '"first"')).headers.get('etag') ?? ''
    assert.equal((await send(url, 'DELETE', undefined, { 'if-match': etag })).status, 204)
    assert.equal(await redis.client.exists(KEY), 0)
    assert.equal(await render(url), undefined)
  })

  it('answers 405 where its user of Redis may only read', async t => {
    await redis.client.set(KEY, 'as it was')
    await redis.client.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '&*', '+@all', '-@write')
    const { url } = await startProcess(t, { REDIS_URL: redis.url.replace('redis://', 'redis://reader:secret@') })
    for (const [method, body] of [['PUT', '"new"'], ['DELETE', undefined]] as const) {
      const reply = await send(url, method, body)
      assert.deepEqual([reply.status, reply.headers.get('allow'), (await reply.json() as { code: string }).code], [405, 'GET, HEAD', 'STORE_READ_ONLY'])
    }
    assert.equal(await redis.client.get(KEY), 'as it was')
    assert.equal(await render(url), 'as it was')
  })

  it('answers 503 where Redis takes no change, says why, and stays ready', async t => {
    await redis.client.set(KEY, 'as it was')
    const { url } = await startProcess(t, { REDIS_URL: redis.url })
    t.after(() => redis.client.config('SET', 'maxmemory', '0'))
    await redis.client.config('SET', 'maxmemory', '1')
    const reply = await send(url, 'PUT', '"new"')
    const { code, message } = await reply.json() as { code: string, message: string }
    assert.deepEqual([reply.status, code, message], [503, 'STORE_UNAVAILABLE', 'Nothing was changed: Redis has reached its maxmemory'])
    const { status, store } = await (await fetch(`${url}/readyz`)).json() as Readiness
    assert.deepEqual([status, store.connected, await render(url)], ['ready', true, 'as it was'])
  })
})

function send (url: string, method: 'PUT' | 'DELETE', body: string | undefined, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${url}/api/prompts/review.short`, { method, ...(body === undefined ? { headers } : { body, headers: { 'content-type': 'application/json', ...headers } }) })
}

async function render (url: string): Promise<unknown> {
  const reply = await fetch(`${url}/api/render/prompts/review.short`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variables":{"code":"x"}}' })
  return (await reply.json() as { rendered_prompt?: unknown }).rendered_prompt
}
