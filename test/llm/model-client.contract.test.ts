import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createModelClient } from '../../src/llm/create-model-client.ts'
import { type ModelClient } from '../../src/llm/model-client.ts'
import { UpstreamRefusal } from '../../src/llm/upstream-error.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'

const ASK = { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'What is 6 × 7? 🦄' }] }

const VARIANTS: readonly { name: string, open: (t: TestContext) => Promise<ModelClient> }[] = [
  {
    name: 'builtin:echo',
    open: async () => createModelClient({ baseUrl: 'builtin:echo', model: 'small' })
  },
  {
    name: 'an HTTP API',
    open: async t => {
      const upstream = await startUpstream((hit, response) => {
        const { messages, model } = JSON.parse(hit.body) as { messages: { content: string }[], model: string }
        const last = messages.at(-1)
        if (last === undefined) sendJson(response, 400, { error: { message: 'messages: too short', type: 'invalid_request_error', param: 'messages', code: null } })
        else sendJson(response, 200, completion(last.content, { model }))
      })
      t.after(() => upstream.close())
      return createModelClient({ baseUrl: upstream.baseUrl, model: 'small' })
    }
  }
]

for (const variant of VARIANTS) {
  describe(`a model client of ${variant.name}`, () => {
    const open = async (t: TestContext) => {
      const client = await variant.open(t)
      t.after(() => client.close())
      return client
    }
    const call = () => ({ signal: new AbortController().signal, requestId: 'request-1' })

    it('answers with a chat completion', async t => {
      const reply = await (await open(t)).complete(ASK, call())
      const { id, created, choices, usage, ...rest } = reply.value as unknown as { id: string, created: number, choices: [{ index: number, message: { role: string, content: string }, finish_reason: string }], usage: Record<string, number> }
      assert.equal(reply.status, 200)
      assert.equal(rest['object' as keyof object], 'chat.completion')
      assert.match(id, /^chatcmpl-/)
      assert.ok(Number.isInteger(created))
      assert.equal(choices[0].message.role, 'assistant')
      assert.equal(choices[0].message.content, 'What is 6 × 7? 🦄')
      assert.equal(choices[0].finish_reason, 'stop')
      assert.equal(usage['total_tokens'], (usage['prompt_tokens'] ?? 0) + (usage['completion_tokens'] ?? 0))
    })

    it('gives the same reply as bytes and as a value', async t => {
      const reply = await (await open(t)).complete(ASK, call())
      assert.deepEqual(JSON.parse(reply.body.toString('utf8')), reply.value)
      assert.equal(reply.headers['content-type'], 'application/json')
    })

    it('names the configured model when the request names none', async t => {
      assert.equal((await (await open(t)).complete(ASK, call())).value['model'], 'small')
    })

    it('names the model of the request', async t => {
      assert.equal((await (await open(t)).complete({ ...ASK, model: 'large' }, call())).value['model'], 'large')
    })

    it('refuses a request without messages in the shape of OpenAI', async t => {
      const client = await open(t)
      await assert.rejects(client.complete({ messages: [] }, call()), (error: unknown) => {
        assert.ok(error instanceof UpstreamRefusal)
        assert.equal(error.status, 400)
        assert.equal((error.body['error'] as { type: string }).type, 'invalid_request_error')
        return true
      })
    })

    it('ends with the reason of the caller who has left', async t => {
      const client = await open(t)
      const reason = new Error('gone')
      await assert.rejects(client.complete(ASK, { signal: AbortSignal.abort(reason), requestId: 'request-1' }), reason)
    })

    it('serves many calls at once', async t => {
      const client = await open(t)
      const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => client.complete({ messages: [{ role: 'user', content: `say ${index}` }] }, call())))
      assert.deepEqual(replies.map(reply => (reply.value['choices'] as unknown as [{ message: { content: string } }])[0].message.content), Array.from({ length: 50 }, (_, index) => `say ${index}`))
    })

    it('closes twice without an error', async t => {
      const client = await open(t)
      await client.close()
      await client.close()
    })
  })
}
