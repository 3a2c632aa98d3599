import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from '../helpers/otlp-collector.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { type Answer, completion, sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

/** Has a tool, a model, and a prompt that calls the tool. */
interface Traced {
  readonly service: ServiceProcess
  readonly collector: OtlpCollector
  readonly tools: Awaited<ReturnType<typeof startRestfulToolServer>>
  readonly upstream: Awaited<ReturnType<typeof startUpstream>>
  chat (body: object, headers?: Record<string, string>, id?: string): Promise<Response>
  /** Waits for a request's span, which is the last one of its trace to end, and gives all. */
  spans (count?: number): Promise<readonly CollectedSpan[]>
}

async function startTraced (t: TestContext, answer: Answer, further: Record<string, string> = {}): Promise<Traced> {
  const [collector, tools, upstream, folder] = await Promise.all([startOtlpCollector(t), startRestfulToolServer(t), startUpstream(answer), createTemporaryFolder()])
  t.after(async () => {
    await upstream.close()
    await folder.remove()
  })
  await folder.write('templates/ask.json', JSON.stringify({ userPrompt: '{{a_tool variables.name}}, {{variables.name}}', defaults: { model: 'gpt-x' } }))
  await folder.write('templates/old.json', JSON.stringify('now {{variables.name}}'))
  await folder.write('versions/old/1.json', JSON.stringify({ entry: { userPrompt: 'once {{variables.name}}', defaults: { model: 'gpt-x' } } }))
  await folder.write('releases/old.json', JSON.stringify({ next: 2, labels: { production: 1 }, moves: [], versions: [{ n: 1, tag: 'tag', at: '2026-11-20T10:00:00Z', by: 'ana' }] }))
  await folder.write('tools/a/tool.json', JSON.stringify({ url: `${tools.origin}/text`, description: 'Says hello', parameters: [{ name: 'name', type: 'string' }] }))
  await folder.write('tools/bad/tool.json', JSON.stringify({ url: `${tools.origin}/500` }))
  const service = await startProcess(t, { STORE_DIR: folder.path, LLM_BASE_URL: upstream.baseUrl, RENDER_TIMEOUT_MS: '20000', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50', ...further })
  return {
    service,
    collector,
    tools,
    upstream,
    chat: (body, headers = {}, id = 'ask') => fetch(`${service.url}/api/chat/prompts/${id}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }),
    spans: async (count = 1) => {
      await waitFor('the spans of the requests', () => collector.spans.filter(({ kind }) => kind === 2).length >= count)
      return collector.spans
    }
  }
}

const answer: Answer = (_hit, response) => sendJson(response, 200, completion('Hi'))

function find (spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.find(span => span.name === name)
  assert.ok(found, `a span ${name} among ${spans.map(span => span.name).join(', ')}`)
  return found
}

describe('traces over OTLP', () => {
  it('show a chat as a tree, under the caller\'s span', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({ variables: { name: 'Ada' } }, { traceparent })).text()
    const spans = await traced.spans()
    const request = find(spans, 'POST /api/chat/prompts/:id')
    const render = find(spans, 'render')
    const tool = find(spans, 'execute_tool a_tool')
    const model = find(spans, 'chat gpt-x')
    assert.deepEqual([request.parentSpanId, render.parentSpanId, tool.parentSpanId, model.parentSpanId], ['b7ad6b7169203331', request.spanId, render.spanId, request.spanId])
    assert.ok(spans.every(span => span.traceId === traceId))
    assert.equal(spans.length, 4)
    assert.deepEqual([request.kind, render.kind, tool.kind, model.kind], [2, 1, 1, 3])
    assert.equal(request.resource['service.name'], 'ai-prompt-shell')
  })

  it('carry the GenAI attributes', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({ variables: { name: 'Ada' } })).text()
    const spans = await traced.spans()
    const { 'prompt_shell.prompt.revision': revision, ...render } = find(spans, 'render').attributes
    assert.match(String(revision), /^[\w-]{8,}$/)
    assert.deepEqual(render, { 'prompt_shell.prompt.name': 'ask', 'prompt_shell.render.passes': 2 })
    assert.deepEqual(find(spans, 'execute_tool a_tool').attributes, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'a_tool', 'gen_ai.tool.type': 'function', 'gen_ai.tool.description': 'Says hello', 'prompt_shell.tool.outcome': 'ok' })
    assert.deepEqual(find(spans, 'chat gpt-x').attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'default',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(traced.upstream.baseUrl).port),
      'gen_ai.request.model': 'gpt-x',
      'prompt_shell.prompt.name': 'ask',
      'prompt_shell.prompt.revision': revision,
      'gen_ai.response.id': 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'stop' }] },
      'gen_ai.response.model': 'gpt-4.1-2025-04-14',
      'gen_ai.usage.input_tokens': 19,
      'gen_ai.usage.output_tokens': 10,
      'prompt_shell.cost.usd': (19 * 2 + 10 * 8) / 1e6,
      'llm.cost.total': (19 * 2 + 10 * 8) / 1e6
    })
    assert.deepEqual(find(spans, 'POST /api/chat/prompts/:id').attributes, { 'http.request.method': 'POST', 'http.route': '/api/chat/prompts/:id', 'http.response.status_code': 200 })
  })

  it('go on at tools and at the model, under the span of their call, without what a caller sent beside', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({ variables: { name: 'Ada' } }, { baggage: 'user=ada', tracestate: 'vendor=1' })).text()
    const spans = await traced.spans()
    for (const sent of [traced.tools.requests[0], traced.upstream.hits[0]]) assert.deepEqual([sent?.headers['baggage'], sent?.headers['tracestate']], [undefined, undefined])
    const context = ({ traceId, spanId }: CollectedSpan) => `00-${traceId}-${spanId}-01`
    assert.equal(traced.tools.requests[0]?.headers['traceparent'], context(find(spans, 'execute_tool a_tool')))
    assert.equal(traced.upstream.hits[0]?.headers['traceparent'], context(find(spans, 'chat gpt-x')))
    const line = await waitFor('the request\'s line', () => traced.service.log.map(text => JSON.parse(text) as { msg: string, traceId?: string }).find(({ msg }) => msg === 'request'))
    assert.equal(line.traceId, spans[0]?.traceId)
  })

  it('show a stream up to its end', async t => {
    const traced = await startTraced(t, (_hit, response) => sendCompletionStream(response, ['a', 'b'], {}, true))
    await (await traced.chat({ variables: { name: 'Ada' }, stream: true })).text()
    const { attributes } = find(await traced.spans(), 'chat gpt-x')
    assert.deepEqual([attributes['gen_ai.request.stream'], attributes['gen_ai.usage.output_tokens'], attributes['error.type']], [true, 10, undefined])
    assert.deepEqual(attributes['gen_ai.response.finish_reasons'], { values: [{ stringValue: 'stop' }] })
    assert.ok(Number(attributes['gen_ai.response.time_to_first_chunk']) > 0)
    assert.match(String(attributes['gen_ai.response.id']), /^chatcmpl-/)
  })

  it('say which version was served, and under which label', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({ variables: { name: 'Ada' } }, {}, 'old@production')).text()
    const spans = await traced.spans()
    for (const name of ['render', 'chat gpt-x']) {
      const { 'prompt_shell.prompt.name': prompt, 'prompt_shell.prompt.version': version, 'prompt_shell.prompt.label': label } = find(spans, name).attributes
      assert.deepEqual([prompt, version, label], ['old', 1, 'production'], name)
    }
    const backends = Object.entries(find(spans, 'chat gpt-x').attributes).filter(([name]) => /^(?:langfuse|prompt|llm\.prompt_template|gen_ai\.prompt)\./.test(name))
    assert.deepEqual(Object.fromEntries(backends), {
      'langfuse.observation.prompt.name': 'old',
      'langfuse.observation.prompt.version': 1,
      'langfuse.observation.metadata.prompt_label': 'production',
      'prompt.id': 'old',
      'llm.prompt_template.version': '1'
    })
  })

  it('have what was asked for beside the messages, and no text of it', async t => {
    const traced = await startTraced(t, answer)
    const settings = { n: 2, seed: 7, max_completion_tokens: 100, temperature: 0.5, top_p: 0.9, top_k: 5, frequency_penalty: 0.1, presence_penalty: 0.2, response_format: { type: 'json_object' } }
    await (await traced.chat({ variables: { name: 'Ada' }, ...settings, stop: ['enough'] })).text()
    const asked = Object.entries(find(await traced.spans(), 'chat gpt-x').attributes).filter(([name]) => /^gen_ai\.(?:request|output)/.test(name))
    assert.deepEqual(Object.fromEntries(asked), {
      'gen_ai.request.model': 'gpt-x',
      'gen_ai.request.choice.count': 2,
      'gen_ai.request.seed': 7,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.top_k': 5,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': 0.2,
      'gen_ai.output.type': 'json'
    })
  })

  it('tell of embeddings their dimensions and format', async t => {
    const traced = await startTraced(t, (_hit, response) => sendJson(response, 200, { object: 'list', model: 'e', data: [{ object: 'embedding', index: 0, embedding: [1, 2, 3] }], usage: { prompt_tokens: 8, total_tokens: 8 } }))
    await (await fetch(`${traced.service.url}/v1/embeddings`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'e', input: 'x', encoding_format: 'float' }) })).text()
    const { 'server.port': _port, ...attributes } = find(await traced.spans(), 'embeddings e').attributes
    assert.deepEqual(attributes, {
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': 'default',
      'server.address': '127.0.0.1',
      'gen_ai.request.model': 'e',
      'gen_ai.request.encoding_formats': { values: [{ stringValue: 'float' }] },
      'gen_ai.response.model': 'e',
      'gen_ai.usage.input_tokens': 8,
      'gen_ai.embeddings.dimension.count': 3
    })
  })

  for (const [how, type, variables] of [
    ['protobuf unless told otherwise', 'application/x-protobuf', {}],
    ['JSON', 'application/json', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }],
    ['JSON by the variable of traces alone', 'application/json', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }],
    ['protobuf where another protocol was wished', 'application/x-protobuf', { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }]
  ] as Array<[string, string, Record<string, string>]>) {
    it(`are sent in ${how}`, async t => {
      const traced = await startTraced(t, answer, { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip', ...variables })
      await (await traced.chat({ variables: { name: 'Ada' } })).text()
      const spans = await traced.spans()
      assert.deepEqual(spans.map(({ name }) => name).sort(), ['POST /api/chat/prompts/:id', 'chat gpt-x', 'execute_tool a_tool', 'render'])
      const [headers] = traced.collector.headers
      assert.deepEqual([headers?.['content-type'], headers?.['content-encoding']], [type, 'gzip'])
      assert.equal(traced.service.log.some(line => line.includes('traces are sent as http/protobuf')), variables['OTEL_EXPORTER_OTLP_PROTOCOL'] === 'grpc')
    })
  }

  it('show retries as events, and what failed by its code', async t => {
    const traced = await startTraced(t, (_hit, response) => sendJson(response, 503, { error: { message: 'overloaded' } }))
    await (await traced.chat({ variables: { name: 'Ada' } })).text()
    const spans = await traced.spans()
    const model = find(spans, 'chat gpt-x')
    assert.deepEqual(model.events, [1, 2].map(retry => ({ name: 'retry', attributes: { 'prompt_shell.retry': retry, 'http.response.status_code': 503 } })))
    assert.deepEqual([model.attributes['error.type'], model.status.code], ['LLM_UPSTREAM', 2])
    assert.equal(find(spans, 'POST /api/chat/prompts/:id').attributes['error.type'], '502')
  })

  it('show failures of renders and of tools', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({})).text()
    await (await fetch(`${traced.service.url}/api/tools/bad.tool/call`, { method: 'POST' })).text()
    const spans = await traced.spans(2)
    assert.equal(find(spans, 'render').attributes['error.type'], 'VARIABLE_MISSING')
    const tool = find(spans, 'execute_tool bad_tool')
    assert.deepEqual([tool.attributes['prompt_shell.tool.outcome'], tool.attributes['error.type']], ['failed', 'STATUS'])
    assert.equal(tool.parentSpanId, find(spans, 'POST /api/tools/:id/call').spanId)
  })

  it('obey the standard variables', async t => {
    const traced = await startTraced(t, answer, { OTEL_SERVICE_NAME: 'prompts', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test', OTEL_EXPORTER_OTLP_HEADERS: 'x-key=open-sesame' })
    await (await traced.chat({ variables: { name: 'Ada' } })).text()
    const [span] = await traced.spans()
    assert.deepEqual([span?.resource['service.name'], span?.resource['deployment.environment.name']], ['prompts', 'test'])
    assert.equal(traced.collector.headers[0]?.['x-key'], 'open-sesame')
  })

  it('leave out what the sampler or the caller does not want', async t => {
    const traced = await startTraced(t, answer)
    await (await traced.chat({ variables: { name: 'Ada' } }, { traceparent: traceparent.replace(/01$/, '00') })).text()
    assert.match(String(traced.upstream.hits[0]?.headers['traceparent']), new RegExp(`^00-${traceId}-.*-00$`))
    await (await traced.chat({ variables: { name: 'Ada' } })).text()
    assert.ok((await traced.spans()).every(span => span.traceId !== traceId))
  })

  it('are sent before the process ends', async t => {
    const { service, collector, chat } = await startTraced(t, answer, { OTEL_BSP_SCHEDULE_DELAY: '600000' })
    await (await chat({ variables: { name: 'Ada' } })).text()
    assert.equal(collector.spans.length, 0)
    service.process.kill('SIGTERM')
    const [code] = await once(service.process, 'exit') as [number]
    assert.deepEqual([code, collector.spans.length], [0, 4])
  })

  it('that nobody takes are told of in the log, and hold up nothing', async t => {
    const { service, chat } = await startTraced(t, answer, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
    assert.equal((await chat({ variables: { name: 'Ada' } })).status, 200)
    await waitFor('the warning', () => service.log.some(line => line.includes('traces cannot be exported')))
  })

  it('that are more than can be kept are told of in the log', async t => {
    const { service, chat } = await startTraced(t, answer, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_EXPORTER_OTLP_TIMEOUT: '100', OTEL_BSP_MAX_QUEUE_SIZE: '1', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1' })
    await waitFor('the warning', async () => {
      await (await chat({ variables: { name: 'Ada' } })).text()
      return service.log.some(line => line.includes('spans were dropped'))
    })
  })

  for (const off of [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }] as Array<Record<string, string>>) {
    it(`are off with ${Object.entries(off).join()}`, async t => {
      const { service, collector, chat, upstream } = await startTraced(t, answer, off)
      await (await chat({ variables: { name: 'Ada' } }, { traceparent })).text()
      assert.equal(upstream.hits[0]?.headers['traceparent'], traceparent)
      service.process.kill('SIGTERM')
      await once(service.process, 'exit')
      assert.equal(collector.bodies.length, 0)
    })
  }
})
