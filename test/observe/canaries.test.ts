import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { hashToken } from '../../src/access/token-table.ts'
import { assertNoCanaries, CANARIES, holds } from '../helpers/canaries.ts'
import { startGrpcToolServer, TRANSLATOR_PROTO } from '../helpers/grpc-tool-server.ts'
import { assertDocumented } from '../helpers/log-lines.ts'
import { startOtlpCollector } from '../helpers/otlp-collector.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { type Answer, completion, sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const { modelKey, toolSecret, redisPassword, exportHeader, printedEnviron, passedEnviron, unusedEnviron, printedVariable, passedVariable, refusedVariable, authorization, cookie, apiToken, wrongToken } = CANARIES

/** What the upstream does is the model's name. All that goes wrong repeats the request, its headers too. */
const UPSTREAM: Readonly<Record<string, Answer>> = {
  good: (_hit, response) => sendJson(response, 200, completion('Hi')),
  stream: (_hit, response) => sendCompletionStream(response, ['a', 'b']),
  broken: (hit, response) => sendJson(response, 500, { error: { message: JSON.stringify(hit) } }),
  denied: (hit, response) => sendJson(response, 401, { error: { message: JSON.stringify(hit) } }),
  refused: (hit, response) => sendJson(response, 422, { error: { message: JSON.stringify(hit) } }),
  html: (hit, response) => response.writeHead(200).end(`<p>${JSON.stringify(hit)}`),
  reset: (_hit, response) => { response.destroy() },
  cut (hit, response) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')
    response.end(`data: ${JSON.stringify({ error: { message: JSON.stringify(hit) } })}\n\n`)
  }
}

const answer: Answer = (hit, response, count) => UPSTREAM[(JSON.parse(hit.body) as { model: string }).model]?.(hit, response, count)

const secretHeader = { authorization: 'Bearer ${secret:TOKEN}' } // eslint-disable-line no-template-curly-in-string

/** Every kind of thing that is registered, each with something that fails. */
function registrations (rest: string, grpc: string): Readonly<Record<string, unknown>> {
  const parameters = [{ name: 'text', type: 'string' }]
  return {
    'environs:team:printed': printedEnviron.text,
    'environs:team:passed': passedEnviron.text,
    'environs:team:unused': { deep: [unusedEnviron.text] },
    'environs:modules:lost': `not a url ${unusedEnviron.text}`,
    'templates:print': 'For {{team.printed}}: {{variables.text}} {{ok_tool team.passed}} {{failing_tool variables.passed}} {{grpc_fail variables.passed}} {{lost_tool "x"}}',
    'templates:strict': { userPrompt: '{{variables.level}}', parameters: { type: 'object', properties: { level: { enum: ['low', 'high'] }, count: { type: 'integer' } } } },
    'templates:crash': '{{index .variables.list .variables.text}}',
    'templates:missing': '{{variables.not.there}}',
    'templates:syntax': '{{#if}}',
    'tools:ok:tool': { url: `${rest}/echo`, headers: secretHeader, parameters },
    'tools:failing:tool': { url: `${rest}/500`, headers: secretHeader, parameters },
    'tools:ending:tool': { url: `${rest}/503`, headers: secretHeader, parameters, onError: 'abort' },
    'tools:strange:tool': { url: `${rest}/echo`, headers: secretHeader, parameters, returns: { type: 'integer' } },
    'tools:lost:tool': { url: '/somewhere', module: 'lost', parameters },
    'tools:grpc:fail': { grpc: { url: grpc, method: 'translate.Translator/Fail', proto: TRANSLATOR_PROTO }, headers: secretHeader, parameters }
  }
}

const variables = { text: printedVariable.text, passed: passedVariable.text }

/** Successes and failures of every route; a body that is a text is sent as it is. */
const REQUESTS: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
  ['POST', '/api/render/prompts/print', { variables }],
  ['POST', '/api/render/prompts/print?explain=true', { variables }],
  ['POST', '/api/render/prompts/print?tools=record', { variables }],
  ['POST', '/api/render/prompts/strict', { variables: { level: refusedVariable.text } }],
  ['POST', '/api/render/prompts/strict', { variables: { count: refusedVariable.text } }],
  ['POST', '/api/render/prompts/crash', { variables: { list: ['a'], text: printedVariable.text } }],
  ['POST', '/api/render/prompts/missing', { variables }],
  ['POST', '/api/render/prompts/syntax', { variables }],
  ['POST', '/api/render/prompts/no.such', { variables }],
  ['POST', '/api/render/prompts/print', `{"variables": {"text": "${refusedVariable.text}`],
  ['POST', '/api/render/prompts/print', `{"variables": ${refusedVariable.text}}`],
  ['POST', '/api/render/prompts/print', { variables: refusedVariable.text }],
  ['POST', '/api/render/prompts/print', { variables: { text: `${refusedVariable.text}${'x'.repeat(1_100_000)}` } }],
  ...Object.keys(UPSTREAM).flatMap(model => [false, true].map(stream => ['POST', '/api/chat/prompts/print', { variables, model, stream }] as const)),
  ['POST', '/api/chat/prompts/print', { variables, model: 'good', messages: [{ role: 'system', content: refusedVariable.text }] }],
  ['POST', '/v1/chat/completions', { model: 'good', messages: [{ role: 'user', content: printedVariable.text }] }],
  ['POST', '/v1/chat/completions', { model: 'prompt:print', variables }],
  ['POST', '/v1/embeddings', { model: 'broken', input: printedVariable.text }],
  ...['ok', 'failing', 'ending', 'strange', 'lost'].map(tool => ['POST', `/api/tools/${tool}.tool/call`, { arguments: { text: passedVariable.text } }] as const),
  ['POST', '/api/tools/grpc.fail/call', { arguments: { text: passedVariable.text } }],
  ['POST', '/api/tools/ok.tool/call', { arguments: { text: 7, more: refusedVariable.text } }],
  ['POST', '/api/lint', { template: '{{broken' }],
  // With details, the list of shared variables has their values.
  ['GET', '/api/environs'],
  ...['extensions', 'prompts', 'tools'].map(kind => ['GET', `/api/${kind}?detail=true`] as const),
  ['GET', '/api/tools/failing.tool'],
  ['GET', '/api/environs/team.missing'],
  ['GET', '/api/prompts/print/needs'],
  ['GET', '/api/status/entries'],
  ['GET', '/v1/models'],
  ['GET', '/readyz'],
  ['GET', '/no/such/route'],
  ['POST', '/api/status/reload']
]

async function startWatched (t: TestContext, further: Readonly<Record<string, string>> = {}) {
  const redis = await startRedisServer({ password: redisPassword.text })
  t.after(() => redis.stop())
  const [collector, rest, grpc, upstream] = await Promise.all([startOtlpCollector(t), startRestfulToolServer(t), startGrpcToolServer(t), startUpstream(answer)])
  t.after(() => upstream.close())
  for (const [key, value] of Object.entries(registrations(rest.origin, grpc.address))) await redis.client.set(`shenma:${key}`, JSON.stringify(value))
  const service = await startProcess(t, {
    REDIS_URL: redis.url,
    LLM_BASE_URL: upstream.baseUrl,
    LLM_API_KEY: modelKey.text,
    LLM_MODEL: 'good',
    TOOL_SECRETS: `TOKEN=127.0.0.1:${rest.port}|${grpc.address}`,
    TOOL_SECRET_TOKEN: toolSecret.text,
    LOG_LEVEL: 'trace',
    RENDER_TIMEOUT_MS: '20000',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${exportHeader.text}`,
    ...further
  })
  const replies: string[] = []
  const metrics: string[] = []
  return {
    redis,
    service,
    replies,
    metrics,
    outlets: () => ({ logLines: service.log, replies, metrics, traces: collector.bodies }),
    /** What came in at tools, the model and the collector: there the canaries were to go. */
    delivered: () => JSON.stringify([rest.requests, grpc.calls, upstream.hits, collector.headers]),
    async send (method: string, path: string, body?: unknown, token = authorization.text): Promise<number> {
      const reply = await fetch(`${service.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, cookie: `session=${cookie.text}`, baggage: `user=${cookie.text}`, tracestate: `x=${cookie.text}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) })
      })
      replies.push(JSON.stringify([...reply.headers]), await reply.text())
      return reply.status
    },
    async readMetrics (): Promise<void> {
      metrics.push(await (await fetch(`${service.url}/metrics`)).text())
    },
    async end (): Promise<void> {
      service.process.kill('SIGTERM')
      await once(service.process, 'close')
    }
  }
}

describe('secrets that are planted in configuration, shared variables, variables and headers', () => {
  it('are in no log line, reply, metric or trace, whatever goes well or wrong', async t => {
    const watched = await startWatched(t)
    const statuses = new Set<number>()
    for (const [method, path, body] of REQUESTS) statuses.add(await watched.send(method, path, body))
    await watched.readMetrics()
    await watched.redis.kill()
    await waitFor('the outage to be logged', () => watched.service.log.some(line => /store cannot be read|Redis/.test(line) && line.includes('"level":40')))
    await watched.send('POST', '/api/render/prompts/print', { variables })
    await watched.readMetrics()
    await watched.end()

    assertNoCanaries(watched.outlets())
    for (const status of [200, 400, 404, 413, 422, 500, 502]) assert.ok(statuses.has(status), `a reply with status ${status} among ${[...statuses].join()}`)
    const delivered = watched.delivered()
    for (const { name, text } of [modelKey, toolSecret, exportHeader, printedEnviron, passedEnviron, printedVariable, passedVariable]) assert.ok(holds(delivered, text), `${name} has been in use`)
    const { logLines, traces, metrics } = watched.outlets()
    assertDocumented(logLines.map(line => JSON.parse(line) as object))
    assert.ok(logLines.filter(line => line.includes('"msg":"request"')).length >= REQUESTS.length - 1)
    assert.ok(traces.length > 0 && metrics.length === 2)
  })

  it('would be found: LOG_VALUES=true logs variables, and still no secret of the configuration or of headers', async t => {
    const watched = await startWatched(t, { LOG_VALUES: 'true' })
    for (const [method, path, body] of REQUESTS) await watched.send(method, path, body)
    await watched.end()
    const log = watched.service.log.join('\n')
    assert.deepEqual([printedVariable, passedVariable].filter(({ text }) => !holds(log, text)), [])
    assert.deepEqual([modelKey, toolSecret, redisPassword, exportHeader, authorization, cookie].filter(({ text }) => holds(log, text)), [])
  })

  it('are in none of these when callers need tokens, which are good, wrong, too weak, limited or used up', async t => {
    const hash = hashToken(apiToken.text)
    const watched = await startWatched(t, { API_TOKENS: `ide:read+render+chat:${hash}:prompts=print:environs=team.*:requests=20` })
    const statuses = new Set<number>()
    for (const [method, path, body] of REQUESTS.slice(0, 6)) statuses.add(await watched.send(method, path, body, wrongToken.text))
    for (const [method, path, body] of [['PUT', '/api/prompts/print', { userPrompt: 'x' }], ['DELETE', '/api/environs/team.printed'], ['POST', '/api/status/reload'], ...REQUESTS] as typeof REQUESTS) {
      statuses.add(await watched.send(method, path, body, apiToken.text))
    }
    await watched.end()

    const outlets = watched.outlets()
    assertNoCanaries(outlets)
    assert.deepEqual(Object.values(outlets).flat().filter(each => each.includes(hash)), [])
    for (const status of [200, 401, 403, 404, 429]) assert.ok(statuses.has(status), `a reply with status ${status} among ${[...statuses].join()}`)
    const delivered = watched.delivered()
    assert.ok(holds(delivered, modelKey.text) && !holds(delivered, apiToken.text), 'a caller\'s token ends at the service')
  })
})
