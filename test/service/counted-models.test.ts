import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { createModelClient, type ModelClientOptions } from '../../src/llm/create-model-client.ts'
import { CountedModels } from '../../src/service/counted-models.ts'
import { estimateInputTokens } from '../../src/service/estimate-tokens.ts'
import { type TokenUsage, UsageCounter } from '../../src/service/usage-counter.ts'
import { type Answer, sendJson, startUpstream } from '../helpers/upstream-server.ts'

/** Four tokens for the message, and 100 for its text. */
const ASK = { model: 'm', messages: [{ role: 'user', content: 'word'.repeat(100) }] }

async function open (t: TestContext, answer: Answer, options: Partial<ModelClientOptions> = {}) {
  const upstream = await startUpstream(answer)
  const client = createModelClient({ baseUrl: upstream.baseUrl, retry: { delays: [0, 0], wait: async () => {} }, ...options })
  const used: TokenUsage[] = []
  const models = new CountedModels(client, new UsageCounter(), (_caller, usage) => { used.push(usage) })
  t.after(async () => {
    await upstream.close()
    await client.close()
  })
  const call = (signal = new AbortController().signal) => ({ caller: ANYONE, prompt: 'p', signal, requestId: 'request-1' })
  return { upstream, models, used, call }
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
})

describe('an estimate of what a model has written', () => {
  for (const [what, message, outputTokens] of MESSAGES) {
    it(`counts ${what}, in a whole reply and in a stream`, async t => {
      const { models, used, call } = await open(t, ({ body }, response) => {
        if (!body.includes('"stream"')) return sendJson(response, 200, { choices: [{ message }] })
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: message, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`)
      })
      await models.complete(ASK, call())
      const { events, ended } = await models.stream(ASK, call())
      events.resume()
      await ended
      const usage = { inputTokens: 104, outputTokens, isEstimate: true }
      assert.deepEqual(used, [usage, usage])
    })
  }
})
