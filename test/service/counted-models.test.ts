import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { createModelClient, type ModelClientOptions } from '../helpers/model-client.ts'
import { type CountedCall, CountedModels } from '../../src/service/chat/models.ts'
import { estimateInputTokens } from '../../src/llm/usage.ts'
import type { TokenUsage } from '../../src/observe/activity.ts'
import { type Json } from '../../src/base/json.ts'
import { type Answer, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { Prices } from '../../src/observe/prices.ts'
import { UsageLedger } from '../../src/service/usage.ts'

/** Four tokens for the message, and 100 for its text. */
const ASK = { model: 'm', messages: [{ role: 'user', content: 'word'.repeat(100) }] }

async function open (t: TestContext, answer: Answer, options: Partial<ModelClientOptions> = {}) {
  const upstream = await startUpstream(answer)
  const client = createModelClient({ baseUrl: upstream.baseUrl, retry: { delays: [0, 0], wait: async () => {} }, ...options })
  const used: TokenUsage[] = []
  const ledger = new UsageLedger(new Prices())
  const models = new CountedModels(client, ledger, (_caller, usage) => { used.push(usage) })
  t.after(async () => {
    await upstream.close()
    await client.close()
  })
  const call = (signal = new AbortController().signal) => ({ caller: ANYONE, prompt: 'p', signal, requestId: 'request-1' })
  const counted = async () => {
    const day = new Date().toISOString().slice(0, 10)
    return (await ledger.read(day, day, ['prompt'])).map(({ calls, errors, timedCalls }) => [calls, errors, timedCalls])
  }
  return { upstream, models, used, call, counted }
}

const MESSAGES: readonly [string, object, number][] = [
  ['what it says', { content: 'a'.repeat(40) }, 10],
  ['what it thinks', { content: 'a'.repeat(40), reasoning_content: 'b'.repeat(400) }, 110],
  ['what it thinks, under another name', { content: null, reasoning: 'b'.repeat(400) }, 100],
  ['what it thinks, once where that is told under two names', { reasoning: 'b'.repeat(400), reasoning_content: 'b'.repeat(400) }, 100],
  ['why it refuses', { content: null, refusal: 'c'.repeat(80) }, 20],
  ['arguments of its calls', { content: null, tool_calls: [{ index: 0, function: { name: 'f', arguments: 'd'.repeat(200) } }] }, 50],
  ['text parts of its content', { content: [{ type: 'text', text: 'a'.repeat(40) }, { type: 'image', data: 'x'.repeat(40) }] }, 10],
  ['nothing of its role', { role: 'assistant'.repeat(40) }, 0]
]

describe('an estimate of what a model is asked', () => {
  it('counts what it thought in earlier turns', () => {
    assert.equal(estimateInputTokens({ messages: [{ role: 'assistant', content: 'a'.repeat(40), reasoning_content: 'b'.repeat(400) }] }), 4 + 110)
  })

  const inputs: readonly [Json, number][] = [['word word', 3], [['word', 'word'], 2], [[1, 2, 3], 3], [[[1, 2, 3], [4, 5]], 5]]
  for (const [input, tokens] of inputs) {
    it(`takes ${JSON.stringify(input)} for ${tokens} tokens of an embedding`, () => assert.equal(estimateInputTokens({ input }), tokens))
  }
})

describe('an estimate of what a model has written', () => {
  for (const [what, message, outputTokens] of MESSAGES) {
    it(`counts ${what}, in a whole reply and in a stream`, async t => {
      const { models, used, call } = await open(t, ({ body }, response) => {
        if (!body.includes('"stream"')) return sendJson(response, 200, { choices: [{ message }] })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: message, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`)
      })
      await models.ask({ kind: 'chat', request: ASK, call: call() })
      const { events, ended } = await models.ask({ kind: 'stream', request: ASK, call: call() })
      events.resume()
      await ended
      const usage = { inputTokens: 104, outputTokens, isEstimate: true }
      assert.deepEqual(used, [usage, usage])
    })
  }
})

/** What a call is counted as that has an input and no answer. */
const INPUT = { inputTokens: 104, outputTokens: 0, isEstimate: true }

const ASKING = {
  'a whole reply': (models: CountedModels, call: CountedCall) => models.ask({ kind: 'chat', request: ASK, call }),
  'a stream': (models: CountedModels, call: CountedCall) => models.ask({ kind: 'stream', request: ASK, call }),
  frames: (models: CountedModels, call: CountedCall) => models.ask({ kind: 'frames', request: ASK, call }),
  embeddings: (models: CountedModels, call: CountedCall) => models.ask({ kind: 'embeddings', request: { model: 'm', input: 'word'.repeat(104) }, call })
}

for (const [what, ask] of Object.entries(ASKING)) {
  describe(`a call for ${what} that fails`, () => {
    it('counts its input when the caller leaves after it was sent', async t => {
      const leaver = new AbortController()
      const { models, used, call, counted } = await open(t, () => leaver.abort(new Error('left')))
      await assert.rejects(ask(models, call(leaver.signal)), /left/)
      assert.deepEqual([used, await counted()], [[INPUT], [[1, 0, 0]]])
    })

    it('counts its input once, however often the provider has kept silent', async t => {
      const { models, used, call, counted, upstream } = await open(t, () => {}, { timeouts: { firstByte: 50 } })
      await assert.rejects(ask(models, call()), { code: 'LLM_UPSTREAM' })
      assert.deepEqual([used, await counted(), upstream.hits.length], [[INPUT], [[1, 1, 0]], 3])
    })

    it('counts its input when the reply is cut off', async t => {
      const { models, used, call } = await open(t, (_hit, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
        response.write('{"choices":', () => response.destroy())
      })
      await assert.rejects(ask(models, call()), { code: 'LLM_UPSTREAM' })
      assert.deepEqual(used, [INPUT])
    })

    it('counts an error and no tokens when the provider refuses it, however often', async t => {
      for (const status of [400, 401, 429, 503]) {
        const { models, used, call, counted } = await open(t, (_hit, response) => sendJson(response, status, {}))
        await assert.rejects(ask(models, call()))
        assert.deepEqual([used, await counted()], [[], [[1, 1, 0]]], String(status))
      }
    })

    it('counts an error when the time of the call is over', async t => {
      const over = new AbortController()
      const { models, call, counted } = await open(t, () => over.abort(new DOMException('over', 'TimeoutError')))
      await assert.rejects(ask(models, call(over.signal)))
      assert.deepEqual(await counted(), [[1, 1, 0]])
    })

    it('counts an error and no tokens when there is no connection', async t => {
      const { models, used, call, counted, upstream } = await open(t, () => {})
      await upstream.close()
      await assert.rejects(ask(models, call()), { code: 'LLM_UPSTREAM' })
      assert.deepEqual([used, await counted()], [[], [[1, 1, 0]]])
    })

    it('counts nothing when the caller leaves while it waits for its turn, or has left before', async t => {
      const [first, waiting] = [new AbortController(), new AbortController()]
      const { models, used, call, counted } = await open(t, () => waiting.abort(new Error('left')), { limits: { concurrency: 1, queue: 1 } })
      const running = ask(models, call(first.signal))
      await assert.rejects(ask(models, call(waiting.signal)), /left/)
      await assert.rejects(ask(models, call(waiting.signal)), /left/)
      assert.deepEqual([used, await counted()], [[], []])
      first.abort(new Error('left'))
      await assert.rejects(running, /left/)
    })
  })
}

describe('a call that succeeds at the second attempt', () => {
  it('counts what the reply says, once', async t => {
    const { models, used, call } = await open(t, (_hit, response, count) => {
      if (count > 1) sendJson(response, 200, { choices: [{}], usage: { prompt_tokens: 3, completion_tokens: 4 } })
    }, { timeouts: { firstByte: 50 } })
    await models.ask({ kind: 'chat', request: ASK, call: call() })
    assert.deepEqual(used, [{ inputTokens: 3, outputTokens: 4, isEstimate: false }])
  })
})

describe('a stream', () => {
  it('counts an error when it is cut', async t => {
    const { models, call, counted } = await open(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' } }] })}\n\n`, () => response.destroy())
    })
    const { events, ended } = await models.ask({ kind: 'stream', request: ASK, call: call() })
    events.resume()
    await ended
    assert.deepEqual(await counted(), [[1, 1, 0]])
  })

  it('counts its input and what was written until its reader left', async t => {
    const { models, used, call, counted } = await open(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a'.repeat(40) } }] })}\n\n`)
    })
    const { events, ended } = await models.ask({ kind: 'stream', request: ASK, call: call() })
    events.destroy()
    await ended
    assert.deepEqual([used, await counted()], [[{ inputTokens: 104, outputTokens: 10, isEstimate: true }], [[1, 0, 0]]])
  })
})
