import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { createModelClient, type ModelClientOptions } from '../../helpers/model-client.ts'
import { type Answer, startUpstream } from '../../helpers/upstream-server.ts'

const ASK = { messages: [{ role: 'user', content: 'Hi' }] }
const HELLO = 'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}\n\n'
const STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

const call = (signal = new AbortController().signal) => ({ signal, requestId: 'request-1' })

const begin = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(HELLO)
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

async function readAll (events: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const bytes of events) text += String(bytes)
  return text
}

describe('HttpModel.stream', () => {
  it('asks for a stream', async t => {
    const { upstream, client } = await open(t, (_hit, response) => {
      begin(response)
      response.end(STOP)
    })
    await readAll((await client.ask({ kind: 'stream', request: ASK, call: call() })).events)
    assert.equal(upstream.hits[0]?.body, '{"messages":[{"role":"user","content":"Hi"}],"stream":true}')
  })

  it('passes an event on while the upstream is still thinking', async t => {
    const responses: ServerResponse[] = []
    const { client } = await open(t, (_hit, response) => {
      responses.push(response)
      begin(response)
    })
    const { events } = await client.ask({ kind: 'stream', request: ASK, call: call() })
    const [first] = await once(events, 'data')
    assert.equal(String(first), HELLO)
    responses[0]?.end(STOP)
    await once(events, 'end')
  })

  it('ends a stream with an error event that has nothing but comments after an event', async t => {
    const { client } = await open(t, (_hit, response) => {
      begin(response)
      const pings = setInterval(() => response.write(': ping\n\n'), 5)
      response.once('close', () => clearInterval(pings))
    }, { timeouts: { idle: 100 } })
    const { events, ended } = await client.ask({ kind: 'stream', request: ASK, call: call() })
    assert.match(await readAll(events), /: ping.*the reply stalled for 100 ms/s)
    assert.equal((await ended).outcome, 'failed')
  })

  it('ends a stream with an error event when the total time is up', async t => {
    const { client } = await open(t, (_hit, response) => begin(response), { timeouts: { total: 1500 } })
    const { events, ended } = await client.ask({ kind: 'stream', request: ASK, call: call() })
    assert.match(await readAll(events), /no whole reply within \d+ ms/)
    assert.equal((await ended).outcome, 'failed')
  })

  it('uses the connection again after a whole stream', async t => {
    const { upstream, client } = await open(t, (_hit, response) => {
      begin(response)
      response.end(STOP)
    })
    for (let round = 0; round < 10; round++) await readAll((await client.ask({ kind: 'stream', request: ASK, call: call() })).events)
    assert.ok(upstream.sockets.size <= 2)
  })

  for (const way of ['the stream is destroyed', 'the signal aborts'] as const) {
    it(`leaves neither sockets nor timers when ${way} in 200 calls at once`, { timeout: 60_000 }, async t => {
      const { upstream, client } = await open(t, (_hit, response) => begin(response))
      const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
      const before = timers()
      const outcomes = await Promise.all(Array.from({ length: 200 }, async () => {
        const leaver = new AbortController()
        const stream = await client.ask({ kind: 'stream', request: ASK, call: call(leaver.signal) })
        if (way === 'the signal aborts') leaver.abort(new Error('left'))
        else stream.events.destroy()
        return (await stream.ended).outcome
      }))
      await upstream.allClosed()
      assert.deepEqual(new Set(outcomes), new Set(['left']))
      assert.equal(upstream.hits.length, 200)
      // One timer may be undici's clock, which all its connections share.
      assert.ok(timers() <= before + 1)
    })
  }

  it('aborts the upstream of a caller who leaves before the first event, and does not try again', async t => {
    const leaver = new AbortController()
    const closings: Promise<unknown>[] = []
    const { upstream, client } = await open(t, (_hit, response) => {
      closings.push(once(response, 'close'))
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      leaver.abort(new Error('left'))
    })
    await assert.rejects(client.ask({ kind: 'stream', request: ASK, call: call(leaver.signal) }), { message: 'left' })
    await Promise.all(closings)
    assert.equal(upstream.hits.length, 1)
  })

  it('lets the upstream wait for a slow reader', async t => {
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(10_000) } }] })}\n\n`
    const count = 5000
    const { client } = await open(t, (_hit, response) => {
      begin(response)
      let written = 0
      const write = () => {
        let goOn = true
        while (goOn && written++ < count) goOn = response.write(event)
        if (goOn) response.end(STOP)
        else response.once('drain', write)
      }
      write()
    }, { timeouts: { idle: 1000 } })
    const { events, ended } = await client.ask({ kind: 'stream', request: ASK, call: call() })
    let most = 0
    let length = 0
    for await (const bytes of events) {
      length += (bytes as Buffer).length
      most = Math.max(most, events.readableLength)
      await new Promise(resolve => setImmediate(resolve))
    }
    assert.equal(length, HELLO.length + count * event.length + STOP.length)
    assert.ok(most <= 256 * 1024, `held ${most} bytes`)
    assert.equal((await ended).outcome, 'complete')
  })

  it('does not take a reader who pauses for an upstream that stalls', async t => {
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(50_000) } }] })}\n\n`
    const { client } = await open(t, (_hit, response) => {
      begin(response)
      response.end(event.repeat(100) + STOP)
    }, { timeouts: { idle: 300 } })
    const { events } = await client.ask({ kind: 'stream', request: ASK, call: call() })
    // Longer than the idle time by the same clock, however slow the machine is.
    for (let round = 0; round < 3; round++) await new Promise(resolve => setTimeout(resolve, 300))
    assert.ok((await readAll(events)).endsWith(STOP))
  })
})
