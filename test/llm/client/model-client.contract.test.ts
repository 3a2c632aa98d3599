import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { createModelClient } from '../../helpers/model-client.ts'
import { type ModelClient } from '../../../src/llm/model-client.ts'
import { UpstreamRefusal } from '../../../src/llm/upstream-error.ts'
import { completion, sendCompletionStream, sendJson, startUpstream } from '../../helpers/upstream-server.ts'
import { openFrontDoor } from '../front-door.ts'

const SAID = 'What is 6 × 7? 🦄'
const ASK = { messages: [{ role: 'system' as const, content: 'Be brief.' }, { role: 'user' as const, content: SAID }] }

interface Asked { readonly messages: { content: string }[], readonly model: string, readonly stream?: boolean, readonly stream_options?: { include_usage?: boolean } }

const VARIANTS: readonly { name: string, open: (t: TestContext) => Promise<ModelClient> }[] = [
  {
    name: 'builtin:echo',
    open: async () => createModelClient({ baseUrl: 'builtin:echo', model: 'small' })
  },
  {
    name: 'builtin:script',
    open: async () => createModelClient({ baseUrl: 'builtin:script', model: 'small', script: [{ last: SAID, reply: SAID }] })
  },
  {
    name: 'an HTTP API',
    open: async t => {
      const upstream = await startUpstream((hit, response) => {
        const { messages, model, stream, stream_options: options } = JSON.parse(hit.body) as Asked
        const last = messages.at(-1)
        if (last === undefined) sendJson(response, 400, { error: { message: 'messages: too short', type: 'invalid_request_error', param: 'messages', code: null } })
        else if (stream === true) sendCompletionStream(response, last.content.split(/(?= )/), { model }, options?.include_usage)
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
    /** The official client, in front of ours. */
    const openOfficial = async (t: TestContext) => {
      const door = await openFrontDoor(await open(t))
      t.after(() => door.close())
      return { door, official: new OpenAI({ baseURL: door.baseUrl, apiKey: 'sk-caller' }) }
    }
    const call = () => ({ signal: new AbortController().signal, requestId: 'request-1' })

    it('answers with a chat completion that the official client reads', async t => {
      const { official } = await openOfficial(t)
      const { object, model, choices, usage } = await official.chat.completions.create({ ...ASK, model: 'large' })
      assert.deepEqual({ object, model }, { object: 'chat.completion', model: 'large' })
      assert.deepEqual(choices.map(choice => [choice.message.role, choice.message.content, choice.finish_reason]), [['assistant', SAID, 'stop']])
      assert.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
    })

    it('gives the same reply as bytes and as a value', async t => {
      const reply = await (await open(t)).ask({ kind: 'chat', request: ASK, call: call() })
      assert.deepEqual(JSON.parse(reply.body.toString('utf8')), reply.value)
    })

    it('names the configured model when the request names none', async t => {
      assert.equal((await (await open(t)).ask({ kind: 'chat', request: ASK, call: call() })).value['model'], 'small')
    })

    it('refuses a request without messages in the shape of OpenAI', async t => {
      const client = await open(t)
      for (const answer of [client.ask({ kind: 'chat', request: { messages: [] }, call: call() }), client.ask({ kind: 'stream', request: { messages: [] }, call: call() })]) {
        await assert.rejects(answer, (error: unknown) => {
          assert.ok(error instanceof UpstreamRefusal)
          assert.equal(error.status, 400)
          assert.equal((error.body['error'] as { type: string }).type, 'invalid_request_error')
          return true
        })
      }
    })

    it('ends with the reason of the caller who has left', async t => {
      const client = await open(t)
      const left = { signal: AbortSignal.abort(new Error('gone')), requestId: 'request-1' }
      await assert.rejects(client.ask({ kind: 'chat', request: ASK, call: left }), { message: 'gone' })
      await assert.rejects(client.ask({ kind: 'stream', request: ASK, call: left }), { message: 'gone' })
    })

    it('serves many calls at once', async t => {
      const client = await open(t)
      const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => client.ask({ kind: 'chat', request: { messages: [{ role: 'user', content: `say ${index}` }] }, call: call() })))
      assert.deepEqual(replies.map(reply => (reply.value['choices'] as unknown as [{ message: { content: string } }])[0].message.content), Array.from({ length: 50 }, (_, index) => `say ${index}`))
    })

    it('streams in pieces that the official client reads', async t => {
      const { official, door } = await openOfficial(t)
      const pieces: string[] = []
      for await (const chunk of await official.chat.completions.create({ ...ASK, model: 'large', stream: true })) {
        const content = chunk.choices[0]?.delta.content ?? ''
        if (content !== '') pieces.push(content)
      }
      assert.ok(pieces.length > 1)
      assert.equal(pieces.join(''), SAID)
      assert.deepEqual(door.ends.map(({ outcome, model, bytes }) => ({ outcome, model, bytes })), [{ outcome: 'complete', model: 'large', bytes: Buffer.byteLength(SAID) }])
    })

    it('streams the same as frames', async t => {
      const client = await open(t)
      const { frames, ended } = await client.ask({ kind: 'frames', request: { ...ASK, model: 'large' }, call: call() })
      let said = ''
      const kinds: string[] = []
      for await (const list of frames) {
        for (const frame of list) {
          kinds.push(frame.kind)
          if (frame.kind === 'chunk') said += (frame.chunk as unknown as { choices: [{ delta: { content?: string } }] }).choices[0].delta.content ?? ''
        }
      }
      assert.equal(said, SAID)
      assert.deepEqual([new Set(kinds.slice(0, -1)), kinds.at(-1)], [new Set(['chunk']), 'done'])
      assert.equal((await ended).outcome, 'complete')
    })

    it('tells that a reader of frames has left', async t => {
      const { frames, ended } = await (await open(t)).ask({ kind: 'frames', request: { messages: [{ role: 'user', content: 'a b '.repeat(100_000) }] }, call: call() })
      const reader = frames[Symbol.asyncIterator]()
      await reader.next()
      await reader.return?.()
      assert.equal((await ended).outcome, 'left')
    })

    it('streams usage when it is asked for', async t => {
      const { official, door } = await openOfficial(t)
      const usages: unknown[] = []
      for await (const chunk of await official.chat.completions.create({ ...ASK, model: 'large', stream: true, stream_options: { include_usage: true } })) {
        if (chunk.usage !== undefined && chunk.usage !== null) usages.push(chunk.usage)
      }
      assert.equal(usages.length, 1)
      assert.deepEqual(door.ends.map(end => end.usage), usages)
    })

    it('tells that a reader has left', async t => {
      const { events, ended } = await (await open(t)).ask({ kind: 'stream', request: { messages: [{ role: 'user', content: 'a b '.repeat(100_000) }] }, call: call() })
      events.once('data', () => events.destroy())
      assert.equal((await ended).outcome, 'left')
    })

    it('closes twice without an error', async t => {
      const client = await open(t)
      await client.close()
      await client.close()
    })
  })
}
