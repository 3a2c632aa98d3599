import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createModelClients, type SharedModelOptions } from '../../../src/llm/create-model-client.ts'
import { DEFAULT_LIMITS } from '../../../src/llm/model-client.ts'
import { type ModelClient } from '../../../src/llm/model-client.ts'
import { UpstreamRefusal } from '../../../src/llm/upstream-error.ts'
import { type Answer, completion, sendJson, startUpstream, type UpstreamServer } from '../../helpers/upstream-server.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

const ASK = { messages: [{ role: 'user', content: 'Hi' }] }
const HELLO = 'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'
const call = () => ({ signal: new AbortController().signal, requestId: 'request-1' })
const answerModel: Answer = (hit, response) => sendJson(response, 200, completion('Hello', { model: (JSON.parse(hit.body) as { model: string }).model, data: [] }))
const answerBroken: Answer = (_hit, response) => sendJson(response, 500, {})

/** A client over two upstreams: `one` lists models and an alias, `two` takes the rest. */
async function open (t: TestContext, answers: [Answer, Answer], options: Partial<SharedModelOptions> = {}, limits = DEFAULT_LIMITS as { concurrency: number, queue: number }) {
  const upstreams = await Promise.all(answers.map(startUpstream)) as [UpstreamServer, UpstreamServer]
  const client = createModelClients([
    { name: 'one', baseUrl: upstreams[0].baseUrl, apiKey: 'sk-one', models: ['large', 'small'], aliases: { fast: 'small' }, headers: {}, limits },
    { name: 'two', baseUrl: upstreams[1].baseUrl, models: [], aliases: {}, headers: {}, limits }
  ], { retry: { delays: [0, 0], wait: async () => {} }, ...options })
  t.after(async () => {
    await Promise.all(upstreams.map(upstream => upstream.close()))
    await client.close()
  })
  return { client, upstreams, hits: () => upstreams.map(upstream => upstream.hits.length) }
}

async function modelOf (client: ModelClient, request: object): Promise<unknown> {
  return (await client.ask({ kind: 'chat', request: { ...ASK, ...request }, call: call() })).value['model']
}

describe('ModelRouter', () => {
  const routes: readonly [request: object, model: string | undefined, hits: number[]][] = [
    [{ model: 'large' }, 'large', [1, 0]],
    [{ model: 'fast' }, 'small', [1, 0]],
    [{ model: 'whatever' }, 'whatever', [0, 1]],
    [{ model: 'constructor' }, 'constructor', [0, 1]],
    [{}, 'large', [1, 0]]
  ]
  for (const [request, model, expected] of routes) {
    it(`routes ${JSON.stringify(request)} to the provider that has it`, async t => {
      const { client, hits } = await open(t, [answerModel, answerModel])
      assert.equal(await modelOf(client, request), model)
      assert.deepEqual(hits(), expected)
    })
  }

  it('sends the key of a provider to no other', async t => {
    const { client, upstreams } = await open(t, [answerModel, answerModel])
    await modelOf(client, { model: 'other' })
    assert.ok(!Object.hasOwn(upstreams[1].hits[0]?.headers ?? {}, 'authorization'))
  })

  it('uses the default model for a request that names none', async t => {
    const { client } = await open(t, [answerModel, answerModel], { model: 'fast' })
    assert.equal(await modelOf(client, {}), 'small')
  })

  it('answers 404 with the offered names for an unknown model', async t => {
    const upstream = await startUpstream(answerModel)
    const client = createModelClients([{ name: 'one', baseUrl: upstream.baseUrl, models: ['large'], aliases: { fast: 'large' }, headers: {}, limits: DEFAULT_LIMITS }], {})
    t.after(async () => {
      await upstream.close()
      await client.close()
    })
    await assert.rejects(modelOf(client, { model: 'larch' }), { code: 'MODEL_NOT_FOUND', statusCode: 404, details: { model: 'larch', offered: ['large', 'fast'] } })
    assert.equal(upstream.hits.length, 0)
  })

  it('lists models and aliases with their providers', async t => {
    const { client } = await open(t, [answerModel, answerModel], { model: 'other' })
    assert.deepEqual(client.models(), [
      { id: 'other', provider: 'two' },
      { id: 'large', provider: 'one' },
      { id: 'small', provider: 'one' },
      { id: 'fast', provider: 'one' }
    ])
  })

  it('routes embeddings as it routes completions', async t => {
    const { client, upstreams } = await open(t, [answerModel, answerModel])
    await client.ask({ kind: 'embeddings', request: { model: 'fast', input: 'Hi' }, call: call() })
    assert.deepEqual(upstreams[0].hits.map(hit => [hit.path, hit.body]), [['/v1/embeddings', '{"model":"small","input":"Hi"}']])
  })

  it('asks the fallbacks in turn, after the retries of each', async t => {
    const { client, hits } = await open(t, [answerBroken, answerModel], { fallbacks: ['fast', 'spare'] })
    assert.equal(await modelOf(client, { model: 'large' }), 'spare')
    assert.deepEqual(hits(), [6, 1])
  })

  it('asks no model twice that a fallback names again', async t => {
    const { client, hits } = await open(t, [answerBroken, answerModel], { fallbacks: ['fast', 'small', 'spare', 'spare'] })
    assert.equal(await modelOf(client, { model: 'small' }), 'spare')
    assert.deepEqual(hits(), [3, 1])
  })

  it('prefers the fallbacks of the call', async t => {
    const { client, hits } = await open(t, [answerBroken, answerModel], { fallbacks: ['fast'] })
    const reply = await client.ask({ kind: 'chat', request: { ...ASK, model: 'large' }, call: { ...call(), fallbacks: ['mine'] } })
    assert.equal(reply.value['model'], 'mine')
    assert.deepEqual(hits(), [3, 1])
  })

  it('asks a fallback for a stream that fails before its first byte', async t => {
    const { client } = await open(t, [answerBroken, (_hit, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(HELLO)], { fallbacks: ['spare'] })
    const { events } = await client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() })
    let text = ''
    for await (const bytes of events) text += String(bytes)
    assert.equal(text, HELLO + 'data: [DONE]\n\n')
  })

  it('asks no fallback for a stream that fails after its first byte', async t => {
    const cut: Answer = (_hit, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(HELLO, () => response.destroy())
    const { client, hits } = await open(t, [cut, answerModel], { fallbacks: ['spare'] })
    const { ended, events } = await client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() })
    events.resume()
    assert.equal((await ended).outcome, 'failed')
    assert.deepEqual(hits(), [1, 0])
  })

  it('asks no fallback when the request is at fault', async t => {
    const { client, hits } = await open(t, [(_hit, response) => sendJson(response, 400, { error: { message: 'no' } }), answerModel], { fallbacks: ['spare'] })
    await assert.rejects(modelOf(client, { model: 'large' }), UpstreamRefusal)
    assert.deepEqual(hits(), [1, 0])
  })

  it('ends with the failure of the last fallback', async t => {
    const { client } = await open(t, [answerBroken, (_hit, response) => sendJson(response, 401, {})], { fallbacks: ['spare'] })
    await assert.rejects(modelOf(client, { model: 'large' }), { code: 'LLM_AUTH', statusCode: 502 })
  })

  it('tells the attempts at all models together', async t => {
    const { client } = await open(t, [answerBroken, answerBroken], { fallbacks: ['fast', 'spare'] })
    await assert.rejects(modelOf(client, { model: 'large' }), { code: 'LLM_UPSTREAM', details: { provider: 'two', attempts: 9 } })
  })

  it('logs a fallback, and no more than the beginnings of names', async t => {
    const lines: unknown[] = []
    const { client } = await open(t, [answerBroken, answerModel], { log: quietLog({ warn: (facts, message) => { if (message.startsWith('falling')) lines.push(facts) } }) })
    const [long, cut] = ['x'.repeat(1000), 'x'.repeat(200)]
    await client.ask({ kind: 'chat', request: { ...ASK, model: 'large' }, call: { ...call(), fallbacks: [long] } })
    const [{ err, ...facts }] = lines as [{ err: Error }]
    assert.deepEqual(facts, { requestId: 'request-1', provider: 'one', model: 'large', fallback: cut })
    assert.match(err.message, /status 500/)
  })

  it('counts the time of all models together', async t => {
    const { client, hits } = await open(t, [() => {}, answerModel], { fallbacks: ['spare'], timeouts: { total: 50 } })
    await assert.rejects(modelOf(client, { model: 'large' }), { code: 'LLM_UPSTREAM' })
    assert.deepEqual(hits(), [1, 0])
  })

  it('asks a fallback for a stream of nothing but comments', async t => {
    const ping: Answer = (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const pings = setInterval(() => response.write(': ping\n\n'), 5)
      response.once('close', () => clearInterval(pings))
    }
    const { client, hits } = await open(t, [ping, (_hit, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${HELLO}data: [DONE]\n\n`)], { fallbacks: ['other'], timeouts: { firstByte: 1000, idle: 1000 }, retry: { delays: [], wait: async () => {} } })
    const { events } = await client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() })
    assert.equal(Buffer.concat(await events.toArray()).toString(), `${HELLO}data: [DONE]\n\n`)
    assert.deepEqual(hits(), [1, 1])
  })

  it('asks a fallback at once for a model that asks to wait', async t => {
    const limited: Answer = (_hit, response) => sendJson(response, 429, {}, { 'retry-after': '30' })
    const waits: number[] = []
    const { client, hits } = await open(t, [limited, answerModel], { fallbacks: ['other'], retry: { delays: [0, 0], wait: async milliseconds => { waits.push(milliseconds) } } })
    assert.equal(await modelOf(client, { model: 'large' }), 'other')
    assert.deepEqual([hits(), waits], [[1, 1], []])
  })

  it('answers 503 with Retry-After above the limits of a provider, and leaves the others alone', async t => {
    const held: (() => void)[] = []
    const hold: Answer = (hit, response, count) => held.push(() => answerModel(hit, response, count))
    const { client } = await open(t, [hold, answerModel], {}, { concurrency: 1, queue: 1 })
    const first = modelOf(client, { model: 'large' })
    const second = modelOf(client, { model: 'large' })
    await assert.rejects(modelOf(client, { model: 'large' }), { code: 'LLM_BUSY', statusCode: 503, headers: { 'retry-after': '1' } })
    assert.equal(await modelOf(client, { model: 'other' }), 'other')
    while (held.length === 0) await new Promise(resolve => setImmediate(resolve))
    held.shift()?.()
    await first
    while (held.length === 0) await new Promise(resolve => setImmediate(resolve))
    held.shift()?.()
    await second
  })

  it('counts a stream up to its end', async t => {
    const { client } = await open(t, [(_hit, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(HELLO), answerModel], {}, { concurrency: 1, queue: 0 })
    const { events, ended } = await client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() })
    await assert.rejects(client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() }), { code: 'LLM_BUSY' })
    events.destroy()
    await ended
    const next = await client.ask({ kind: 'stream', request: { ...ASK, model: 'large' }, call: call() })
    next.events.destroy()
  })
})
