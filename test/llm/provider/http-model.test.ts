import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { createModelClient, type ModelClientOptions } from '../../helpers/model-client.ts'
import { type UpstreamRefusal } from '../../../src/llm/upstream-error.ts'
import { type Answer, completion, sendJson, startUpstream } from '../../helpers/upstream-server.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

const ASK = { messages: [{ role: 'user', content: 'Hi' }] }
const answerHello: Answer = (_hit, response) => sendJson(response, 200, completion('Hello'))

function call (signal = new AbortController().signal) {
  return { signal, requestId: 'request-1' }
}

async function open (t: TestContext, answer: Answer, options: Partial<ModelClientOptions> = {}) {
  const upstream = await startUpstream(answer)
  const client = createModelClient({ baseUrl: upstream.baseUrl, retry: { delays: [0, 0], wait: async () => {} }, ...options })
  t.after(async () => {
    await upstream.close()
    await client.close()
  })
  return { upstream, client }
}

describe('HttpModel', () => {
  it('takes credentials of further headers out of a refusal that prints them', async t => {
    const refuse: Answer = (hit, response) => sendJson(response, 400, { error: { message: JSON.stringify(hit.headers) } })
    const { client } = await open(t, refuse, { headers: { 'api-key': 'azure-1', authorization: 'Basic dTpw' } })
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), (error: UpstreamRefusal) => !/azure-1|dTpw/.test(JSON.stringify(error.body)) && JSON.stringify(error.body).includes('[secret]'))
  })

  it('sends the key, the request id and the further headers', async t => {
    const { upstream, client } = await open(t, answerHello, { apiKey: 'sk-1', headers: { 'x-team': 'shenma' } })
    await client.ask({ kind: 'chat', request: ASK, call: call() })
    const { authorization, 'x-request-id': requestId, 'x-team': team, 'content-type': type } = upstream.hits[0]?.headers ?? {}
    assert.deepEqual({ authorization, requestId, team, type }, { authorization: 'Bearer sk-1', requestId: 'request-1', team: 'shenma', type: 'application/json' })
  })

  it('sends its own request id in place of a configured one', async t => {
    const { upstream, client } = await open(t, answerHello, { headers: { 'X-Request-Id': 'everybody' } })
    await client.ask({ kind: 'chat', request: ASK, call: call() })
    assert.equal(upstream.hits[0]?.headers['x-request-id'], 'request-1')
  })

  it('sends the key once, whatever further headers say', async t => {
    const { upstream, client } = await open(t, answerHello, { apiKey: 'sk-1', headers: { Authorization: 'Bearer other', 'Content-Type': 'text/plain' } })
    await client.ask({ kind: 'chat', request: ASK, call: call() })
    const { rawHeaders } = upstream.hits[0] ?? {}
    const values = (name: string) => rawHeaders?.filter((_value, index) => rawHeaders[index - 1]?.toLowerCase() === name)
    assert.deepEqual([values('authorization'), values('content-type')], [['Bearer sk-1'], ['application/json']])
  })

  it('sends no authorization without a key', async t => {
    const { upstream, client } = await open(t, answerHello)
    await client.ask({ kind: 'chat', request: ASK, call: call() })
    assert.ok(!Object.hasOwn(upstream.hits[0]?.headers ?? {}, 'authorization'))
  })

  it('passes unknown fields on, with every digit of a large integer', async t => {
    const { upstream, client } = await open(t, answerHello)
    await client.ask({ kind: 'chat', request: { ...ASK, seed: 9007199254740993n, 'x-vendor': { deep: [1.5, null] } }, call: call() })
    assert.equal(upstream.hits[0]?.body, '{"messages":[{"role":"user","content":"Hi"}],"seed":9007199254740993,"x-vendor":{"deep":[1.5,null]}}')
  })

  it('answers with the bytes of the upstream, large integers and unknown fields included', async t => {
    const body = '{ "choices": [{}], "x": 9007199254740993, "choices ": "é" }'
    const { client } = await open(t, (_hit, response) => { response.end(body) })
    assert.equal((await client.ask({ kind: 'chat', request: ASK, call: call() })).body.toString('utf8'), body)
  })

  for (const [base, path] of [['', '/v1/chat/completions'], ['/', '/v1/chat/completions'], ['/deploy//?api-version=1', '/v1/deploy/chat/completions?api-version=1']]) {
    it(`posts to ${path} for a base that ends in "/v1${base}"`, async t => {
      const { upstream } = await open(t, answerHello)
      const client = createModelClient({ baseUrl: `${upstream.baseUrl}${base}` })
      t.after(() => client.close())
      await client.ask({ kind: 'chat', request: ASK, call: call() })
      assert.deepEqual(upstream.hits.map(hit => `${hit.method} ${hit.path}`), [`POST ${path}`])
    })
  }

  for (const baseUrl of ['', 'localhost:8000', 'ftp://host/v1', 'https://user:pass@host/v1', 'builtin:other']) {
    it(`refuses the base URL "${baseUrl}"`, () => {
      assert.throws(() => createModelClient({ baseUrl }), TypeError)
    })
  }

  it('reuses connections', async t => {
    const { upstream, client } = await open(t, answerHello)
    for (let round = 0; round < 20; round++) await client.ask({ kind: 'chat', request: ASK, call: call() })
    assert.ok(upstream.sockets.size <= 2)
  })

  it('tries a refused connection three times', async t => {
    const { upstream } = await open(t, answerHello)
    const waits: number[] = []
    const client = createModelClient({ baseUrl: upstream.baseUrl, retry: { delays: [100, 300], wait: async milliseconds => { waits.push(milliseconds) } } })
    await upstream.close()
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), { code: 'LLM_UPSTREAM', message: 'The model gave no usable answer in 3 attempts; provider "default": the connection was refused', details: { provider: 'default', attempts: 3 } })
    assert.deepEqual(waits, [100, 300])
  })

  it('says in every line of the log which API is meant', async t => {
    const { upstream } = await open(t, answerHello)
    const lines: object[] = []
    const client = createModelClient({ baseUrl: `${upstream.baseUrl}?key=hidden`, retry: { delays: [0], wait: async () => {} }, log: quietLog({ warn: facts => lines.push(facts) }) })
    await upstream.close()
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }))
    const known = { provider: 'default', address: new URL(upstream.baseUrl).origin }
    assert.deepEqual(lines.map(({ provider, address }: { provider?: string, address?: string }) => ({ provider, address })), [known, known])
    assert.ok(!JSON.stringify(lines).includes('hidden'))
  })

  it('warns of status 404, which a mistyped base URL has too, and passes it on', async t => {
    const lines: unknown[][] = []
    const { upstream } = await open(t, (_hit, response) => sendJson(response, 404, { error: { message: 'you said hunter2' } }))
    const client = createModelClient({ baseUrl: `${upstream.baseUrl}?key=hidden`, log: quietLog({ warn: (...line) => lines.push(line) }) })
    t.after(() => client.close())
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), { name: 'UpstreamRefusal', status: 404 })
    const facts = { provider: 'default', address: new URL(upstream.baseUrl).origin, requestId: 'request-1', path: '/v1/chat/completions', reason: 'it has no such path, or no such model; most base URLs end in /v1' }
    assert.deepEqual(lines, [[facts, 'model API answered with status 404']])
  })

  it('gives up a connection that is accepted and never stands', async t => {
    const silent = createServer(socket => socket.on('error', () => {}))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const client = createModelClient({ baseUrl: `https://127.0.0.1:${(silent.address() as AddressInfo).port}/v1`, timeouts: { connect: 50 }, retry: { delays: [], wait: async () => {} } })
    t.after(async () => {
      await client.close()
      silent.close()
    })
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), { code: 'LLM_UPSTREAM', message: /no connection within the time allowed/ })
  })

  it('ends a call when the total time is up, whatever the attempts', async t => {
    const { upstream, client } = await open(t, (_hit, response) => { response.writeHead(200).write('{') }, { timeouts: { total: 100 } })
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), { code: 'LLM_UPSTREAM', message: /no whole reply within \d+ ms/ })
    assert.equal(upstream.hits.length, 1)
  })

  it('aborts the upstream when the caller leaves, and does not try again', async t => {
    const leaver = new AbortController()
    const closings: Promise<unknown>[] = []
    const { upstream, client } = await open(t, (_hit, response) => {
      closings.push(once(response, 'close'))
      leaver.abort(new Error('left'))
    })
    await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call(leaver.signal) }), { message: 'left' })
    await Promise.all(closings)
    assert.equal(upstream.hits.length, 1)
  })

  it('sends nothing for a caller who leaves before a connection stands', async t => {
    const { upstream, client } = await open(t, answerHello)
    const leaver = new AbortController()
    const reply = client.ask({ kind: 'chat', request: ASK, call: call(leaver.signal) })
    leaver.abort(new Error('left'))
    await assert.rejects(reply, { message: 'left' })
    await client.close()
    assert.equal(upstream.hits.length, 0)
  })

  it('ends a wait between attempts when the caller leaves', async t => {
    const leaver = new AbortController()
    const { upstream } = await open(t, (_hit, response) => { response.writeHead(429, { 'retry-after': '1' }).end() })
    const patient = createModelClient({ baseUrl: upstream.baseUrl, log: quietLog({ warn: () => setImmediate(() => leaver.abort(new Error('left'))) }) })
    t.after(() => patient.close())
    await assert.rejects(patient.ask({ kind: 'chat', request: ASK, call: call(leaver.signal) }), { message: 'left' })
    assert.equal(upstream.hits.length, 1)
  })

  it('ends a call that hangs when it is closed, without another attempt', async t => {
    const { upstream, client } = await open(t, (_hit, response) => response.flushHeaders())
    const reply = assert.rejects(client.ask({ kind: 'chat', request: ASK, call: call() }), { code: 'LLM_UPSTREAM', message: /the service is shutting down/ })
    while (upstream.hits.length === 0) await new Promise(resolve => setImmediate(resolve))
    await client.close()
    await reply
    assert.equal(upstream.hits.length, 1)
  })
})
