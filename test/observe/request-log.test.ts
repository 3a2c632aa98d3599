import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { postAndLeave } from '../helpers/leaving-client.ts'
import { assertDocumented } from '../helpers/log-lines.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const info = { LOG_LEVEL: 'info' }

function requestLines ({ log }: Service): readonly JsonView[] {
  assertDocumented(log)
  return log.filter(({ msg }) => String(msg) === 'request')
}

describe('the line of a request', () => {
  it('has its ids, its prompt, its revision, its status and its times', async t => {
    const tools = await startRestfulToolServer(t)
    const upstream = await startUpstream((_hit, response) => sendJson(response, 200, completion('Hi')))
    t.after(() => upstream.close())
    const service = await startService(t, { 'templates:ask': '{{a_tool}} {{variables.name}}', 'tools:a:tool': { url: `${tools.origin}/text` } }, { ...info, LLM_BASE_URL: upstream.baseUrl, RENDER_TIMEOUT_MS: '20000' })
    const reply = await service.app.inject({ method: 'POST', url: '/api/chat/prompts/ask', headers: { 'x-request-id': 'mine-1', traceparent }, payload: { variables: { name: 'Ada' } } })
    assert.equal(reply.headers['x-request-id'], 'mine-1')
    const [line, ...others] = requestLines(service)
    assert.deepEqual(others, [])
    const { level, time, pid, hostname, milliseconds, renderMs, toolsMs, modelMs, promptRevision, ...rest } = line as unknown as Record<string, number>
    assert.deepEqual(rest, { msg: 'request', requestId: 'mine-1', method: 'POST', route: '/api/chat/prompts/:id', status: 200, revision: reply.headers['x-registry-revision'], traceId: '0af7651916cd43dd8448eb211c80319c', prompt: 'ask' })
    assert.equal(typeof promptRevision, 'string')
    assert.ok([level, time, pid, hostname].every(field => field !== undefined))
    assert.ok(Number(renderMs) >= Number(toolsMs) && Number(toolsMs) > 0)
    assert.ok(Number(milliseconds) >= Number(renderMs) + Number(modelMs) - 0.02 && Number(modelMs) > 0)
  })

  it('has the id that was asked for where there is no such prompt, and no times of what was not done', async t => {
    const service = await startService(t, {}, info)
    await service.post('/api/render/prompts/no.such')
    const [line] = requestLines(service)
    assert.deepEqual([line?.['id'], line?.['status'], line?.['prompt'], line?.['toolsMs'], line?.['modelMs']], ['no.such', 404, undefined, undefined, undefined])
  })

  it('is there for a path that leads nowhere, and not for the checks of health', async t => {
    const service = await startService(t, {}, info)
    await service.get('/nowhere')
    for (const url of ['/healthz', '/readyz', '/metrics']) await service.app.inject(url)
    assert.deepEqual(requestLines(service).map(({ status, route }) => [status, route]), [[404, undefined]])
  })

  it('is there when the client leaves, once', async t => {
    const tools = await startRestfulToolServer(t)
    const service = await startService(t, { 'templates:slow': '{{slow_tool}}', 'tools:slow:tool': { url: `${tools.origin}/hang` } }, { ...info, RENDER_TIMEOUT_MS: '3000' })
    const client = postAndLeave(`${await service.listen()}/api/render/prompts/slow`, {})
    await waitFor('the tool to be called', () => tools.requests.length === 1)
    client.destroy()
    await waitFor('the line', () => requestLines(service).length === 1)
    await waitFor('the render to end', () => service.log.some(({ code }) => String(code) === 'RENDER_TIMEOUT'))
    assert.deepEqual(requestLines(service).map(({ status, route }) => [status, route]), [[499, '/api/render/prompts/:id']])
  })

  it('has the body with LOG_VALUES=true, every digit of it, and cut where it is long', async t => {
    const service = await startService(t, { 'templates:ask': 'Hello' }, { ...info, LOG_VALUES: 'true' })
    await service.app.inject({ method: 'POST', url: '/api/render/prompts/ask', headers: { 'content-type': 'application/json' }, payload: '{"variables":{"id":12345678901234567890}}' })
    await service.post('/api/render/prompts/ask', { variables: { long: 'x'.repeat(100_000) } })
    const [first, second] = requestLines(service).map(({ body }) => String(body))
    assert.equal(first, '{"variables":{"id":12345678901234567890}}')
    assert.equal(second?.length, 16 * 1024)
  })
})

describe('the ids of a request', () => {
  it('go to tools and to the model', async t => {
    const tools = await startRestfulToolServer(t)
    const upstream = await startUpstream((_hit, response) => sendJson(response, 200, completion('Hi')))
    t.after(() => upstream.close())
    const service = await startService(t, { 'templates:ask': '{{a_tool}}', 'tools:a:tool': { url: `${tools.origin}/text` } }, { LLM_BASE_URL: upstream.baseUrl, RENDER_TIMEOUT_MS: '20000' })
    await service.app.inject({ method: 'POST', url: '/api/chat/prompts/ask', headers: { 'x-request-id': 'mine-2', traceparent }, payload: {} })
    for (const { headers } of [tools.requests[0], upstream.hits[0]] as ReadonlyArray<{ headers: Record<string, unknown> }>) {
      assert.deepEqual([headers['x-request-id'], headers['traceparent']], ['mine-2', traceparent])
    }
  })

  for (const [what, given] of [['nothing', undefined], ['what logs cannot carry', 'a b'], ['a novel', 'x'.repeat(129)]] as const) {
    it(`are made for a caller who sends ${what}`, async t => {
      const service = await startService(t, {}, info)
      const reply = await service.app.inject({ url: '/api/prompts', headers: given === undefined ? {} : { 'x-request-id': given } })
      assert.match(String(reply.headers['x-request-id']), /^[\da-f-]{36}$/)
      assert.equal(requestLines(service)[0]?.['requestId'], reply.headers['x-request-id'])
    })
  }
})
