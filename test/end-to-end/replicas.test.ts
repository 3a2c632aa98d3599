import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

const REGISTERED: Readonly<Record<string, string>> = {
  'shenma:templates:header': 'You answer about {{vscode.rules}}.',
  'shenma:templates:ask': '{{> header}} Review {{variables.code}}',
  'shenma:environs:vscode:rules': '"tests"',
  'shenma:extensions:sample': '{"name":"sample","version":"1.0.0","extensionType":"prompt","contributes":{"prompts":[{"name":"short","userPrompt":"Short {{variables.code}}"}]}}',
  'shenma:tools:code:find': '{"name":"find","type":"restful","url":"http://127.0.0.1:9/find"}'
}

interface Answer { readonly revision: string | null, readonly text: string | undefined }

describe('Two processes over one Redis', () => {
  let redis: RedisServer

  before(async () => { redis = await startRedisServer() })
  after(() => redis.stop())
  beforeEach(() => redis.client.flushall())

  /** Two that read what is registered in another order, and at another time. */
  async function startTwo (t: TestContext): Promise<readonly [string, string]> {
    const one = await startProcess(t, { REDIS_URL: redis.url })
    for (const [key, value] of Object.entries(REGISTERED)) await redis.client.set(key, value)
    const other = await startProcess(t, { REDIS_URL: redis.url })
    return [one.url, other.url]
  }

  const agreed = (urls: readonly string[], id: string, text: string) => waitFor('both to answer the same', async () => {
    const [one, other] = await Promise.all(urls.map(url => ask(url, id)))
    return one?.text === text && other?.text === text && one.revision === other.revision && one.revision
  })

  it('agree on the revision of everything, and answer the same', async t => {
    const urls = await startTwo(t)
    await agreed(urls, 'ask', 'You answer about tests. Review x')
    await agreed(urls, 'sample.short', 'Short x')
    const [one, other] = await Promise.all(urls.map(revisions)) as [string, string]
    assert.equal(one, other)
  })

  it('agree again after changes, whatever each has seen before', async t => {
    const urls = await startTwo(t)
    const first = await agreed(urls, 'ask', 'You answer about tests. Review x')
    await redis.client.set('shenma:templates:header', 'Be brief.')
    const second = await agreed(urls, 'ask', 'Be brief. Review x')
    assert.notEqual(second, first)
    await redis.client.set('shenma:templates:header', REGISTERED['shenma:templates:header'] ?? '')
    assert.equal(await agreed(urls, 'ask', 'You answer about tests. Review x'), first)
    await waitFor('the whole to agree', async () => new Set(await Promise.all(urls.map(revisions))).size === 1)
  })

  it('take a revision that the other one gave, and refuse it with 409 when it has moved on', async t => {
    const [one, other] = await startTwo(t)
    const revision = await agreed([one, other], 'ask', 'You answer about tests. Review x')
    assert.equal((await render(other, `ask?revision=${revision}`)).status, 200)
    await redis.client.set('shenma:templates:header', 'Be brief.')
    await agreed([one, other], 'ask', 'Be brief. Review x')
    assert.equal((await render(other, `ask?revision=${revision}`)).status, 409)
  })
})

function render (url: string, id: string): Promise<Response> {
  return fetch(`${url}/api/render/prompts/${id}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variables":{"code":"x"}}' })
}

async function ask (url: string, id: string): Promise<Answer> {
  const reply = await render(url, id)
  return { revision: reply.headers.get('x-prompt-revision'), text: (await reply.json() as { rendered_prompt?: string }).rendered_prompt }
}

async function revisions (url: string): Promise<string> {
  const { revision, kinds } = await (await fetch(`${url}/readyz`)).json() as { revision: string, kinds: object }
  return JSON.stringify([revision, kinds])
}
