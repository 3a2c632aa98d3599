import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { MODEL_ANSWERS, type ModelAnswer, streamOf } from '../helpers/model-answers.ts'
import { createScratch, PAPAYU } from '../plans/scratch.ts'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { completion, sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'

// Every answer of a model that has caused trouble, at every door of the service that asks a model.

interface Call { readonly id: string, readonly type: string, readonly function: { readonly name: string, readonly arguments: string } }
interface Message { readonly role: string, readonly content: unknown, readonly tool_calls?: readonly Call[], readonly function_call?: object, readonly tool_call_id?: string, readonly reasoning_content?: string }
interface Asked { readonly stream?: boolean, readonly max_tokens?: number, readonly messages: readonly Message[] }

/** A service whose model gives a chosen answer first, and then says what every door understands as its end. */
interface Doors {
  readonly service: Service
  /** Chooses the next answer, and forgets what was asked and called. */
  give (answer: ModelAnswer, then?: string): void
  /** What the model was asked. */
  readonly asked: readonly Asked[]
  /** The calls of tools that arrived: the name of the tool, and its arguments. */
  readonly called: ReadonlyArray<readonly [name: string, given: JsonObject]>
}

const TOOL_NAMES = ['find', 'wipe', 'note']
const DONE = 'Done.'

async function open (t: TestContext): Promise<Doors> {
  const asked: Asked[] = []
  const called: Array<[string, JsonObject]> = []
  let given = MODEL_ANSWERS[0] as ModelAnswer
  let last = DONE
  const tools = await startUpstream((hit, response) => {
    called.push([hit.path.split('/').at(-1) ?? '', JSON.parse(hit.body) as JsonObject])
    sendJson(response, 200, { ok: true })
  })
  const model = await startUpstream((hit, response) => {
    const body = JSON.parse(hit.body) as Asked
    asked.push(body)
    if (asked.length === 1) answer(given, body, response)
    else if (hit.path.endsWith('/embeddings')) sendJson(response, 200, { data: [{ embedding: [1] }] })
    else if (body.stream === true) sendCompletionStream(response, [last])
    else sendJson(response, 200, completion(last))
  })
  const scratch = await createScratch(t)
  const { STORE_DIR: _store, LLM_BASE_URL: _model, LLM_SCRIPT_FILE: _script, ...environment } = scratch.environment
  const agentTools = TOOL_NAMES.map(name => ({ tool: name }))
  const service = await startService(t, {
    ...Object.fromEntries(TOOL_NAMES.map(name => [`tools:${name}`, { url: `${tools.baseUrl}/${name}`, method: 'POST', parameters: { type: 'object', additionalProperties: true } }])),
    'agents:whole': { mode: 'tools', system: 'Be short.', tools: agentTools },
    'agents:live': { mode: 'tools', system: 'Be short.', tools: agentTools, stream: true },
    'templates:loop': { userPrompt: 'Hello', defaults: { toolLoop: { tools: TOOL_NAMES } } },
    'templates:plain': { userPrompt: 'Hello' },
    'templates:typed': { userPrompt: 'Who?', structured: true, returns: { type: 'object', properties: { owner: { type: 'string' } }, required: ['owner'] } },
    'skills:tagged': { description: 'Tagged.', body: 'Do it.', protocol: 'text' },
    'skills:calls': { description: 'Calls.', body: 'Do it.' },
    'plans:default': { ...PAPAYU, checks: [] }
  }, { ...environment, LLM_BASE_URL: model.baseUrl, LLM_MODEL: 'm', TOOL_EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'silent' })
  t.after(async () => { await Promise.all([tools.close(), model.close()]) })
  return {
    service,
    asked,
    called,
    give (answer, then = DONE) {
      given = answer
      last = then
      asked.length = 0
      called.length = 0
    }
  }
}

function answer (given: ModelAnswer, body: Asked, response: ServerResponse): void {
  if (body.stream !== true) return sendJson(response, 200, given.whole)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(streamOf(given))
}

/** Checks that a conversation is one that the strictest API takes. */
function isStrict (messages: readonly Message[]): void {
  const ids = new Set<string>()
  let open: string[] = []
  for (const { role, content, tool_calls: calls = [], tool_call_id: of, function_call: older } of messages) {
    if (role === 'tool') assert.equal(of, open.shift())
    else assert.deepEqual(open, [])
    if (calls.length === 0 && older === undefined) assert.ok(content !== '' && content !== null)
    open = role === 'tool' ? open : calls.map(({ id }) => id)
    for (const call of calls) {
      assert.ok(call.id !== '' && !ids.has(call.id))
      ids.add(call.id)
      assert.equal(call.type, 'function')
      assert.match(call.function.name, /^[\w-]{1,64}$/)
      const given = JSON.parse(call.function.arguments) as unknown
      assert.ok(typeof given === 'object' && given !== null && !Array.isArray(given))
    }
  }
  assert.doesNotMatch(JSON.stringify(messages), /\\ud[89a-f]/)
}

/** Checks the calls that were made for an answer, and what the model was told of them. */
function checkCalls ({ reads }: ModelAnswer, { asked, called }: Doors): void {
  const { calls: expected = [] } = reads
  const made = expected.filter(({ broken }) => broken !== true)
  assert.deepEqual([...called].map(each => JSON.stringify(each)).sort(), made.map(call => JSON.stringify([call.name, call.arguments])).sort())
  if (expected.length === 0) return
  const messages = asked[1]?.messages ?? []
  isStrict(messages)
  // What comes in the older dialect goes back in it.
  if (messages.some(({ function_call: older }) => older !== undefined)) return assert.ok(messages.some(({ role }) => role === 'function'))
  const told = messages.findLast(({ tool_calls: calls }) => calls !== undefined)
  for (const [index, { broken }] of expected.entries()) {
    const id = told?.tool_calls?.[index]?.id
    const result = messages.find(message => message.tool_call_id === id)
    assert.match(String(result?.content), broken === true ? /the arguments are not JSON/ : /ok/)
  }
  const { arguments: sent, reasoning_content: reasoning } = typeof reads.sentBack === 'object' ? reads.sentBack : {}
  if (sent !== undefined) assert.equal(told?.tool_calls?.[0]?.function.arguments, sent)
  if (reasoning !== undefined) assert.equal(told?.reasoning_content, reasoning)
}

const CHATS = MODEL_ANSWERS.filter(({ door }) => door === undefined)
const eventsOf = (body: string): JsonView[] => body.split('\n\n').flatMap(event => /^data: (\{.*)$/m.exec(event)?.[1] ?? []).map(data => JSON.parse(data) as JsonView)
/** Whether a stream ends without its end: then it is an error, of which only what came before is passed on. */
const breaksOff = ({ ends }: ModelAnswer): boolean => ends !== undefined

describe('answers of models', () => {
  it('are read the same at every door', async t => {
    const doors = await open(t)
    const { service: { post, app } } = doors

    for (const given of CHATS) {
      for (const agent of given.whole === undefined ? ['live'] : ['whole', 'live']) {
        await t.test(`${given.id}: by an agent, ${agent}`, async () => {
          const { reads } = given
          doors.give(given)
          const { json: { id } } = await post(`/api/agents/${agent}/sessions`, {})
          const { json } = await post(`/api/agents/sessions/${String(id)}/message`, { text: 'Hello' })
          const { answer: said, finishReason } = json as unknown as { readonly answer: string, readonly finishReason?: string }
          checkCalls(given, doors)
          for (const { messages } of doors.asked) isStrict(messages)
          if (reads.refusal !== undefined) {
            assert.deepEqual([said, doors.asked.length], [`The model refuses: ${reads.refusal}`, 1])
          } else if (reads.cut === true && reads.text !== undefined) {
            assert.deepEqual([said, finishReason, doors.asked.length], [`${reads.text}…[the answer was cut: length]`, 'length', 1])
          } else if (reads.cut === true) {
            assert.match(String(doors.asked[1]?.messages.at(-1)?.content), /it was cut \(length\) and nothing of it was done; answer with less/)
            assert.equal(said, DONE)
          } else if (reads.error !== undefined || reads.calls !== undefined) {
            assert.deepEqual([said, doors.asked.length], [DONE, 2])
          } else if (reads.text !== undefined) {
            assert.deepEqual([said, finishReason, doors.asked.length], [reads.text, 'stop', 1])
          }
        })
      }

      for (const stream of given.whole === undefined ? [true] : [false, true]) {
        await t.test(`${given.id}: by the tool loop of a prompt, ${stream ? 'streamed' : 'whole'}`, async () => {
          doors.give(given)
          const reply = await app.inject({ method: 'POST', url: '/api/chat/prompts/loop', payload: { stream } })
          assert.equal(reply.statusCode, 200, reply.body)
          checkCalls(given, doors)
          if (given.reads.cut === true && given.reads.text === undefined) assert.match(String(doors.asked[1]?.messages.at(-1)?.content), /nothing of it was done/)
          if (stream && breaksOff(given)) assert.match(reply.body, /The model's answer was cut short/)
          else if (given.reads.calls !== undefined || given.reads.error !== undefined) assert.match(reply.body, /Done\./)
        })

        await t.test(`${given.id}: passed by /v1/chat/completions, ${stream ? 'streamed' : 'whole'}`, async () => {
          doors.give(given)
          const reply = await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream } })
          assert.equal(reply.statusCode, 200, reply.body)
          if (stream && breaksOff(given)) return assert.match(reply.body, /"error":\{"message":"The model's answer was cut short: the stream ended without a finish_reason"/)
          if (given.reads.error !== undefined) return assert.deepEqual([/Done\./.test(reply.body), doors.asked.length], [true, 2])
          if (!stream) return assert.equal(reply.body, JSON.stringify(given.whole))
          assert.doesNotMatch(reply.body, /"error":\{|^data: *(?:null|\[\]|:.*)?$/m)
          if (given.lines === undefined) assert.equal(reply.body, streamOf(given))
        })

        await t.test(`${given.id}: by /v1/responses, ${stream ? 'streamed' : 'whole'}`, async () => {
          const { reads } = given
          doors.give(given)
          const reply = await app.inject({ method: 'POST', url: '/v1/responses', payload: { model: 'm', input: 'Hello', stream, tools: TOOL_NAMES.map(name => ({ type: 'function', name })) } })
          assert.equal(reply.statusCode, 200, reply.body)
          const events = stream ? eventsOf(reply.body) : []
          if (stream && breaksOff(given)) return assert.equal(String(events.at(-1)?.['type']), 'error')
          const response = (stream ? events.at(-1)?.['response'] : JSON.parse(reply.body)) as unknown as { readonly status: string, readonly output: ReadonlyArray<{ readonly type: string, readonly status: string, readonly call_id?: string, readonly name?: string, readonly arguments?: string, readonly content?: ReadonlyArray<{ readonly text?: string, readonly refusal?: string }> }> }
          assert.equal(response.status, reads.cut === true ? 'incomplete' : 'completed')
          const parts = response.output.flatMap(({ content = [] }) => content)
          const calls = response.output.filter(({ type, status }) => type === 'function_call' && status === 'completed')
          if (reads.error !== undefined) return assert.equal(parts.map(({ text = '' }) => text).join(''), DONE)
          if (reads.text !== undefined) assert.equal(parts.map(({ text = '' }) => text).join(''), reads.text)
          if (reads.refusal !== undefined) assert.equal(parts[0]?.refusal, reads.refusal)
          assert.deepEqual(calls.map(({ name }) => name), (reads.calls ?? []).map(({ name }) => name))
          for (const [index, call] of (reads.calls ?? []).entries()) if (call.broken !== true) assert.deepEqual(JSON.parse(calls[index]?.arguments ?? ''), call.arguments)
          assert.equal(new Set(calls.map(({ call_id: id }) => id).filter(id => id !== '')).size, calls.length)
        })
      }
    }

    for (const given of CHATS.filter(({ reads, whole }) => reads.json !== undefined || (reads.cut === true && whole !== undefined) || reads.refusal !== undefined)) {
      await t.test(`${given.id}: by a prompt that declares the form of its answer`, async () => {
        doors.give(given)
        const { status, json } = await post('/api/chat/prompts/typed', {})
        if (given.reads.json !== undefined) assert.deepEqual([status, JSON.parse(String(json['choices']?.['0']?.['message']?.['content']))], [200, given.reads.json])
        else assert.deepEqual([status, String(json['code'])], given.reads.cut === true ? [502, 'ANSWER_INVALID'] : [200, 'undefined'])
      })
    }

    for (const skill of ['tagged', 'calls']) {
      for (const given of CHATS.filter(({ whole, reads }) => whole !== undefined && reads.calls === undefined)) {
        await t.test(`${given.id}: by a skill, ${skill}`, async () => {
          doors.give(given, '[DONE] Done.')
          const { json } = await post('/api/skills/start', { terminalSessionId: 'manual', skillId: skill })
          for (const { messages } of doors.asked) isStrict(messages)
          if (given.reads.refusal !== undefined) {
            assert.match(JSON.stringify(json), /The model refuses: I cannot help with that/)
            return assert.equal(doors.asked.length, 1)
          }
          const { state, aiResponse, text } = json['data'] as unknown as { readonly state: string, readonly aiResponse: JsonView | null, readonly text: string }
          assert.doesNotMatch(JSON.stringify(aiResponse), /<think>|hm/)
          assert.deepEqual([state, text], ['done', DONE])
          if (given.reads.cut !== true) return
          assert.match(String(doors.asked[1]?.messages.at(-1)?.content), /it was cut \(length\)/)
          assert.equal(doors.asked[1]?.max_tokens, 4 * Number(doors.asked[0]?.max_tokens))
        })
      }
    }

    for (const given of CHATS.filter(({ whole, reads }) => whole !== undefined && reads.calls === undefined)) {
      await t.test(`${given.id}: by a plan`, async () => {
        doors.give(given, '{"actions":[],"summary":"Done.","context_requests":[],"memory_patch":{}}')
        const { json } = await post('/api/plans', { goal: 'plan: x', workspace: 'shop' })
        for (const { messages } of doors.asked) isStrict(messages)
        if (given.reads.refusal !== undefined) assert.deepEqual([String(json['error_code']), doors.asked.length], ['MODEL_REFUSED', 1])
        else assert.equal(String(json['summary']), DONE)
        if (given.reads.cut === true) assert.match(String(doors.asked[1]?.messages.at(-1)?.content), /ERR_ANSWER_CUT: it was cut \(length\)/)
      })
    }

    for (const given of MODEL_ANSWERS.filter(({ door }) => door === '/v1/embeddings')) {
      await t.test(`${given.id}: by /v1/embeddings`, async () => {
        doors.give(given)
        const { status, json } = await post('/v1/embeddings', { model: 'm', input: 'x' })
        assert.deepEqual([status, json['data'], doors.asked.length], [200, [{ embedding: [1] }], 2])
      })
    }
  })
})
