import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Metrics } from '../../src/observe/metrics.ts'
import { postAndLeave } from '../helpers/leaving-client.ts'
import { parseMetrics, type Sample, sumOf } from '../helpers/metrics.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { type Service, startService } from '../helpers/service.ts'
import { type Answer, completion, sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const HTTP = 'prompt_shell_http_request_duration_seconds_count'
const MODEL_CALLS = 'prompt_shell_model_call_duration_seconds_count'

const registrations = {
  'templates:ask': 'Hello {{variables.name}}',
  'templates:broken': '{{#if}}',
  'templates:slow': '{{slow_tool}}'
}

async function samplesOf ({ app }: Service): Promise<Sample[]> {
  const reply = await app.inject('/metrics')
  assert.equal(reply.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  return parseMetrics(reply.body)
}

async function startModel (t: TestContext, answer: Answer): Promise<{ LLM_BASE_URL: string }> {
  const upstream = await startUpstream(answer)
  t.after(() => upstream.close())
  return { LLM_BASE_URL: upstream.baseUrl }
}

describe('GET /metrics', () => {
  it('counts requests by method, route and status, and those without a route as one', async t => {
    const service = await startService(t, registrations)
    await service.post('/api/render/prompts/ask', { variables: { name: 'Ada' } })
    await service.post('/api/render/prompts/ask', { variables: {} })
    await service.get('/no/such/1')
    await service.get('/no/such/2')
    const samples = await samplesOf(service)
    const route = '/api/render/prompts/:id'
    assert.equal(sumOf(samples, HTTP, { method: 'POST', route, status: '200' }), 1)
    assert.equal(sumOf(samples, HTTP, { method: 'POST', route, status: '400' }), 1)
    assert.equal(sumOf(samples, HTTP, { route: '(none)', status: '404' }), 2)
  })

  it('counts a request whose client has left as 499', async t => {
    const tools = await startRestfulToolServer(t)
    const service = await startService(t, { ...registrations, 'tools:slow:tool': { url: `${tools.origin}/hang` } }, { RENDER_TIMEOUT_MS: '60000' })
    const client = postAndLeave(`${await service.listen()}/api/render/prompts/slow`, {})
    await waitFor('the tool to be called', () => tools.requests.length === 1)
    client.destroy()
    await waitFor('the request to be counted', async () => sumOf(await samplesOf(service), HTTP, { status: '499' }) === 1)
    await waitFor('nothing to be in flight but this', async () => sumOf(await samplesOf(service), 'prompt_shell_http_requests_in_flight') === 1)
  })

  it('counts renders by prompt and outcome, and prompts that nobody has registered as one', async t => {
    const service = await startService(t, registrations)
    await service.post('/api/render/prompts/ask', { variables: { name: 'Ada' } })
    await service.post('/api/render/prompts/ask')
    await service.post('/api/render/prompts/broken')
    await service.post('/api/render/prompts/invented.1')
    await service.post('/api/render/prompts/invented.2')
    const renders = (await samplesOf(service)).filter(({ name }) => name === 'prompt_shell_renders_total')
    assert.deepEqual(renders.map(({ labels, value }) => [labels['prompt'], labels['outcome'], value]), [
      ['ask', 'ok', 1],
      ['ask', 'VARIABLE_MISSING', 1],
      ['broken', 'TEMPLATE_SYNTAX', 1],
      ['(unknown)', 'PROMPT_NOT_FOUND', 2]
    ])
  })

  it('counts the passes of renders', async t => {
    const tools = await startRestfulToolServer(t)
    const service = await startService(t, { ...registrations, 'tools:slow:tool': { url: `${tools.origin}/text` } })
    await service.post('/api/render/prompts/ask', { variables: { name: 'Ada' } })
    await service.post('/api/render/prompts/slow')
    const samples = await samplesOf(service)
    assert.equal(sumOf(samples, 'prompt_shell_render_passes_count'), 2)
    assert.equal(sumOf(samples, 'prompt_shell_render_passes_sum'), 3)
  })

  it('counts calls of tools by outcome, with the reasons of failures', async t => {
    const tools = await startRestfulToolServer(t)
    const service = await startService(t, {
      'tools:good:one': { url: `${tools.origin}/text`, cacheTtl: 60_000 },
      'tools:bad:one': { url: `${tools.origin}/500` }
    })
    await service.post('/api/tools/good.one/call')
    await service.post('/api/tools/good.one/call')
    await service.post('/api/tools/bad.one/call')
    const samples = await samplesOf(service)
    const calls = (tool: string, outcome: string) => sumOf(samples, 'prompt_shell_tool_call_duration_seconds_count', { tool, outcome })
    assert.deepEqual([calls('good.one', 'ok'), calls('good.one', 'cached'), calls('bad.one', 'failed')], [1, 1, 1])
    assert.equal(sumOf(samples, 'prompt_shell_tool_failures_total', { tool: 'bad.one', code: 'STATUS' }), 1)
    assert.equal(sumOf(samples, 'prompt_shell_cache_hits_total', { cache: 'tool_results' }), 1)
    assert.equal(sumOf(samples, 'prompt_shell_cache_entries', { cache: 'tool_results' }), 1)
  })

  it('counts calls of models by provider, model and outcome, with their tokens', async t => {
    const environment = await startModel(t, (_hit, response, count) => count === 1 ? sendJson(response, 200, completion('Hi')) : sendJson(response, 401, {}))
    const service = await startService(t, registrations, { ...environment, LLM_MODEL: 'known' })
    await service.post('/api/chat/prompts/ask', { variables: { name: 'Ada' } })
    await service.post('/api/chat/prompts/ask', { variables: { name: 'Ada' } })
    const samples = await samplesOf(service)
    const labels = { provider: 'default', model: 'known', operation: 'chat' }
    assert.equal(sumOf(samples, MODEL_CALLS, { ...labels, outcome: 'ok' }), 1)
    assert.equal(sumOf(samples, MODEL_CALLS, { ...labels, outcome: 'LLM_AUTH' }), 1)
    assert.equal(sumOf(samples, 'prompt_shell_model_tokens_total', { model: 'known', direction: 'input' }), 19)
    assert.equal(sumOf(samples, 'prompt_shell_model_tokens_total', { model: 'known', direction: 'output' }), 10)
  })

  it('counts retries', async t => {
    const environment = await startModel(t, (_hit, response, count) => count === 1 ? sendJson(response, 500, {}) : sendJson(response, 200, completion('Hi')))
    const service = await startService(t, registrations, environment)
    await service.post('/api/chat/prompts/ask', { variables: { name: 'Ada' }, model: 'm' })
    assert.equal(sumOf(await samplesOf(service), 'prompt_shell_model_retries_total', { provider: 'default', model: 'm' }), 1)
  })

  it('measures the first event of streams, and counts one that is cut', async t => {
    const environment = await startModel(t, (_hit, response, count) => {
      if (count === 1) return sendCompletionStream(response, ['a', 'b'])
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', () => response.destroy())
    })
    const service = await startService(t, registrations, environment)
    for (const model of ['whole', 'cut']) await service.app.inject({ method: 'POST', url: '/api/chat/prompts/ask', payload: { variables: { name: 'Ada' }, stream: true, model } })
    const samples = await samplesOf(service)
    assert.equal(sumOf(samples, 'prompt_shell_model_first_event_seconds_count'), 2)
    assert.equal(sumOf(samples, MODEL_CALLS, { model: 'whole', outcome: 'ok' }), 1)
    assert.equal(sumOf(samples, MODEL_CALLS, { model: 'cut', outcome: 'CUT' }), 1)
  })

  it('tells models apart that a provider has answered under, and no others', async t => {
    const environment = await startModel(t, (hit, response) => hit.body.includes('"good"') ? sendJson(response, 200, completion('Hi')) : sendJson(response, 404, { error: { message: 'no such model' } }))
    const service = await startService(t, registrations, environment)
    for (const model of ['invented-1', 'invented-2', 'good']) await service.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] })
    const models = (await samplesOf(service)).filter(({ name }) => name === MODEL_CALLS)
    assert.deepEqual(models.map(({ labels, value }) => [labels['model'], labels['outcome'], value]), [['(others)', 'REFUSED', 2], ['good', 'ok', 1]])
  })

  it('has a bound on models that an upstream answers under, however long their names', async t => {
    const service = await startService(t, registrations, { LLM_BASE_URL: 'builtin:echo' })
    for (let index = 0; index < 130; index++) await service.post('/v1/chat/completions', { model: `invented-${index}-${'x'.repeat(10_000)}`, messages: [{ role: 'user', content: 'x' }] })
    const models = (await samplesOf(service)).filter(({ name }) => name === MODEL_CALLS)
    // A hundred, and (others).
    assert.equal(models.length, 101)
    assert.ok(models.every(({ labels }) => (labels['model'] ?? '').length <= 200))
  })

  it('leaves the time of tools and models out of the overhead', async t => {
    const tools = await startRestfulToolServer(t, { '/late': response => { setTimeout(() => response.end('"x"'), 300) } })
    const service = await startService(t, { 'templates:two': '{{late_tool 1}} {{late_tool 2}}', 'tools:late:tool': { url: `${tools.origin}/late`, parameters: [{ name: 'n', type: 'integer' }] } }, { RENDER_TIMEOUT_MS: '20000' })
    await service.post('/api/render/prompts/two')
    const samples = await samplesOf(service)
    const total = sumOf(samples, 'prompt_shell_http_request_duration_seconds_sum', { route: '/api/render/prompts/:id' })
    const overhead = sumOf(samples, 'prompt_shell_overhead_seconds_sum')
    // A timer may be early by a part of a millisecond.
    assert.ok(total - overhead > 0.295, `of ${total} s, ${overhead} s are overhead`)
    assert.equal(sumOf(samples, 'prompt_shell_overhead_seconds_count'), 1)
  })

  it('tells what is registered and rejected', async t => {
    const service = await startService(t, { ...registrations, 'environs:a:b': '1', 'environs:a:c': '2', 'tools:x': '{' })
    const samples = await samplesOf(service)
    const entries = (kind: string) => sumOf(samples, 'prompt_shell_registry_entries', { kind })
    assert.deepEqual([entries('prompts'), entries('environs'), entries('extensions'), entries('tools')], [3, 2, 0, 0])
    assert.equal(sumOf(samples, 'prompt_shell_registry_rejected_entries', { kind: 'tools' }), 1)
    assert.equal(sumOf(samples, 'prompt_shell_registry_rejected_entries', { kind: 'environs' }), 0)
    assert.equal(sumOf(samples, 'prompt_shell_registry_generation'), 1)
    assert.equal(sumOf(samples, 'prompt_shell_registry_store_connected'), 1)
    assert.ok(sumOf(samples, 'prompt_shell_registry_age_seconds') < 600)
  })

  it('follows a change of what is registered', async t => {
    const service = await startService(t, registrations)
    service.store.set('shenma:templates:more', 'more')
    await waitFor('the next generation', async () => sumOf(await samplesOf(service), 'prompt_shell_registry_generation') === 2)
    assert.equal(sumOf(await samplesOf(service), 'prompt_shell_registry_entries', { kind: 'prompts' }), 4)
  })

  it('tells of the process and its event loop', async t => {
    const names = new Set((await samplesOf(await startService(t, registrations))).map(({ name }) => name))
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds', 'nodejs_heap_size_used_bytes', 'prompt_shell_build_info']) assert.ok(names.has(name), name)
  })
})

describe('Metrics', () => {
  it('takes notice of changes that are served, in seconds', async () => {
    const metrics = new Metrics()
    metrics.served(250)
    const samples = parseMetrics(await metrics.read())
    assert.equal(sumOf(samples, 'prompt_shell_registry_write_to_served_seconds_sum'), 0.25)
  })

  it('names everything by Prometheus\' conventions', () => {
    for (const { name, type } of new Metrics().describe()) {
      assert.match(name, /^prompt_shell_[a-z_]+$/)
      assert.equal(name.endsWith('_total'), type === 'counter', name)
      if (type === 'histogram') assert.match(name, /_(seconds|passes)$/)
    }
  })
})
