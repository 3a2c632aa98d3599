import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import OpenAI from 'openai'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { parseScript } from '../../../src/llm/read-script.ts'
import { createModelClient } from '../../helpers/model-client.ts'
import { UpstreamRefusal } from '../../../src/llm/upstream-error.ts'
import { openFrontDoor } from '../front-door.ts'

const RULES = `
- last: [ветер, море]
  reply: both
- last: café
  reply: composed
- system: [relevant, answer]
  offers: false
  reply: 'yes'
- last: search
  offers: rag_search
  calls: [{ name: rag_search, arguments: { query: wind and sea, most: 3 } }, { name: other }]
- last: search
  offers: true
  reply: no such tool is offered
- last: haiku
  calls: [{ name: generate_haiku, arguments: { theme: море } }]
  reply: I will ask for it.
- last: wrong
  fail: { status: 422, message: this is wrong }
- last: broken
  fail: { status: 500, message: out of order }
- last: key
  fail: { status: 401 }
- last: slowly
  fail: { status: 429 }
- last: nothing
  reply: ''
- last: first
  reply: one
- last: first
  reply: two
`

const user = (content: Json) => ({ role: 'user', content })
const system = (content: Json) => ({ role: 'system', content })
const tool = (name: string) => ({ type: 'function', function: { name } })
const parts = (...texts: string[]) => texts.map(text => ({ type: 'text', text }))

const CASES: ReadonlyArray<readonly [what: string, request: JsonObject, content: string]> = [
  ['all texts of a rule that are in the last message', { messages: [user('Море и ВЕТЕР')] }, 'both'],
  ['a message that holds one of two texts with an echo', { messages: [user('море')] }, 'море'],
  ['a message in parts by their joined text', { messages: [user(parts('ве', 'тер, ', 'море'))] }, 'both'],
  ['a text that is composed otherwise', { messages: [user('CAFE\u0301')] }, 'composed'],
  ['by the last message alone', { messages: [user('ветер, море'), { role: 'assistant', content: 'x' }, user('bye')] }, 'bye'],
  ['by the last message when a tool has spoken last', { messages: [user('say'), { role: 'tool', tool_call_id: '1', content: 'ветер, море' }] }, 'both'],
  ['by texts in several system messages', { messages: [system('Is it Relevant?'), { role: 'developer', content: 'ANSWER' }, user('x')] }, 'yes'],
  ['no tool where none may be offered', { messages: [system('relevant answer'), user('x')], tools: [tool('any')] }, 'x'],
  ['by tools that are offered', { messages: [user('search')], tools: [tool('other')] }, 'no such tool is offered'],
  ['with an echo where a tool must be offered', { messages: [user('search')], tools: [] }, 'search'],
  ['an empty reply as it is', { messages: [user('nothing')] }, ''],
  ['with the first of two rules that match', { messages: [user('first')] }, 'one'],
  ['a message without a text with an empty echo', { messages: [user(null)] }, '']
]

const open = (retries: number[] = []) => createModelClient({ baseUrl: 'builtin:script', script: parseScript(RULES), retry: { delays: retries, wait: async () => {} } })
const call = () => ({ signal: new AbortController().signal, requestId: 'request-1' })

async function openOfficial (t: TestContext) {
  const door = await openFrontDoor(open())
  t.after(() => door.close())
  return { door, official: new OpenAI({ baseURL: door.baseUrl, apiKey: 'sk-caller', maxRetries: 0 }) }
}

const SEARCH = { model: 'large', messages: [{ role: 'user' as const, content: 'Search!' }], tools: [{ type: 'function' as const, function: { name: 'rag_search' } }] }
const SEARCH_CALLS = [['rag_search', { query: 'wind and sea', most: 3 }], ['other', {}]]

describe('builtin:script', () => {
  for (const [what, request, content] of CASES) {
    it(`answers ${what}`, async () => {
      const { value } = await open().ask({ kind: 'chat', request, call: call() })
      const { choices } = value as unknown as OpenAI.ChatCompletion
      assert.deepEqual([choices[0]?.message.content, choices[0]?.finish_reason], [content, 'stop'])
    })
  }

  it('says that it is a script, whatever model was asked', async () => {
    const messages = [user('x')]
    const replies = [await open().ask({ kind: 'chat', request: { messages }, call: call() }), await open().ask({ kind: 'chat', request: { messages, model: 'large' }, call: call() })]
    assert.deepEqual(replies.map(({ value }) => [value['model'], value['system_fingerprint']]), [['script', 'builtin:script'], ['large', 'builtin:script']])
  })

  it('calls tools in a reply that the official client reads', async t => {
    const { official } = await openOfficial(t)
    const { choices: [choice], usage } = await official.chat.completions.create(SEARCH)
    const calls = choice?.message.tool_calls ?? []
    assert.deepEqual([choice?.finish_reason, choice?.message.content], ['tool_calls', null])
    assert.deepEqual(calls.map(made => made.type === 'function' && [made.function.name, JSON.parse(made.function.arguments)]), SEARCH_CALLS)
    assert.equal(new Set(calls.map(({ id }) => id)).size, 2)
    assert.ok((usage?.completion_tokens ?? 0) > 0)
  })

  it('calls tools in a stream that the official client reads', async t => {
    const { official, door } = await openOfficial(t)
    const { choices: [choice] } = await official.chat.completions.stream(SEARCH).finalChatCompletion()
    assert.equal(choice?.finish_reason, 'tool_calls')
    assert.deepEqual(choice.message.tool_calls?.map(made => made.type === 'function' && [made.function.name, JSON.parse(made.function.arguments)]), SEARCH_CALLS)
    assert.deepEqual(door.ends.map(({ outcome, bytes }) => [outcome, bytes]), [['complete', '{"query":"wind and sea","most":3}{}'.length]])
  })

  it('says a text beside its calls, whole and in a stream', async t => {
    const { official } = await openOfficial(t)
    const ask = { model: 'large', messages: [{ role: 'user' as const, content: 'a haiku' }] }
    const whole = await official.chat.completions.create(ask)
    const streamed = await official.chat.completions.stream(ask).finalChatCompletion()
    for (const { choices: [choice] } of [whole, streamed]) {
      assert.deepEqual([choice?.message.content, choice?.message.tool_calls?.length, choice?.finish_reason], ['I will ask for it.', 1, 'tool_calls'])
    }
  })

  it('refuses with its status and its words', async () => {
    for (const answer of [open().ask({ kind: 'chat', request: { messages: [user('wrong')] }, call: call() }), open().ask({ kind: 'stream', request: { messages: [user('wrong')] }, call: call() })]) {
      await assert.rejects(answer, (error: unknown) => {
        assert.ok(error instanceof UpstreamRefusal)
        assert.deepEqual([error.status, (error.body['error'] as JsonObject)['message']], [422, 'this is wrong'])
        return true
      })
    }
  })

  for (const [said, code] of [['broken', 'LLM_UPSTREAM'], ['key', 'LLM_AUTH'], ['slowly', 'LLM_RATE_LIMITED']] as const) {
    it(`fails as an API does: ${code}`, async () => {
      await assert.rejects(open().ask({ kind: 'chat', request: { messages: [user(said)] }, call: call() }), { code })
      await assert.rejects(open().ask({ kind: 'stream', request: { messages: [user(said)] }, call: call() }), { code })
    })
  }

  it('is asked again before a failure is final', async () => {
    await assert.rejects(open([1, 1]).ask({ kind: 'chat', request: { messages: [user('broken')] }, call: call() }), { code: 'LLM_UPSTREAM', details: { provider: 'default', attempts: 3, upstream: { type: 'server_error' } } })
  })
})
