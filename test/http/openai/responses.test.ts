import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { BadRequestError, InternalServerError, NotFoundError, type OpenAI } from 'openai'
import { sharedOfficialClient, startOfficialClient } from '../../helpers/official-client.ts'
import { type Answer, completion, sendCompletionStream, sendJson } from '../../helpers/upstream-server.ts'

const registrations = {
  'templates:ask': { messages: [{ role: 'system', content: 'Be {{variables.mood}}.' }], parameters: [{ name: 'mood', type: 'string' }], defaults: { model: 'from-prompt' } },
  'templates:score': { userPrompt: 'Score it', structured: true, returns: { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] } }
}

const hello: Answer = (hit, response) => {
  if ((JSON.parse(hit.body) as { readonly stream?: boolean }).stream === true) sendCompletionStream(response, ['Hel', 'lo'], {}, true)
  else sendJson(response, 200, completion('Hello'))
}
const CALL = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
const ADD = { type: 'function' as const, name: 'add', description: 'adds', parameters: { type: 'object', properties: { a: { type: 'number' } } }, strict: false }

/** Writes pieces of a completion as they are. */
const inPieces = (deltas: readonly object[], reason = 'stop'): Answer => (_hit, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const delta of deltas) response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm-1', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`)
  response.end(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm-1', choices: [{ index: 0, delta: {}, finish_reason: reason }] })}\n\ndata: [DONE]\n\n`)
}

const callsAdd: Answer = (hit, response, count) => {
  const { stream } = JSON.parse(hit.body) as { readonly stream?: boolean }
  if (count > 1) return hello(hit, response, count)
  if (stream !== true) return sendJson(response, 200, completion('', { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: [CALL] }, finish_reason: 'tool_calls' }] }))
  inPieces([{ role: 'assistant', tool_calls: [{ index: 0, ...CALL, function: { name: 'add', arguments: '' } }] }, { tool_calls: [{ index: 0, function: { arguments: '{"a":1,' } }] }, { tool_calls: [{ index: 0, function: { arguments: '"b":2}' } }] }], 'tool_calls')(hit, response, count)
}

async function eventsOf (stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>): Promise<OpenAI.Responses.ResponseStreamEvent[]> {
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

const answering = sharedOfficialClient(registrations)

describe('responses.create of the official client', () => {
  it('answers a text', async () => {
    const { client, asked } = await answering(hello)
    const response = await client.responses.create({ model: 'gpt-4.1', input: 'Hi', instructions: 'Be kind.', max_output_tokens: 9, reasoning: { effort: 'low' }, metadata: { a: 'b' } })
    assert.deepEqual([response.output_text, response.status, response.usage?.total_tokens, response.object, response.metadata], ['Hello', 'completed', 29, 'response', { a: 'b' }])
    assert.deepEqual(asked(), [{ model: 'gpt-4.1', messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: 'Hi' }], max_completion_tokens: 9, reasoning_effort: 'low' }])
  })

  it('streams a text as the events of one', async () => {
    const { client, asked } = await answering(hello)
    const events = await eventsOf(await client.responses.create({ model: 'gpt-4.1', input: 'Hi', stream: true }))
    assert.deepEqual(events.map(({ type }) => type.replace(/^response\./, '')), ['created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done', 'completed'])
    assert.deepEqual(events.map(({ sequence_number: number }) => number), events.map((_, index) => index))
    assert.deepEqual(asked()[0]?.stream_options, { include_usage: true })
    const whole = await client.responses.stream({ model: 'gpt-4.1', input: 'Hi' }).finalResponse()
    assert.deepEqual([whole.output_text, whole.usage?.total_tokens], ['Hello', 29])
  })

  for (const stream of [false, true]) {
    it(`runs functions of its own, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { client, asked } = await answering(callsAdd)
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Add' }]
      const ask = async () => stream ? await client.responses.stream({ model: 'm', input, tools: [ADD], tool_choice: { type: 'function', name: 'add' } }).finalResponse() : await client.responses.create({ model: 'm', input, tools: [ADD], tool_choice: { type: 'function', name: 'add' } })
      const first = await ask()
      const [call] = first.output
      assert.ok(call?.type === 'function_call')
      assert.deepEqual([call.call_id, call.name, call.arguments, call.status], ['call_1', 'add', '{"a":1,"b":2}', 'completed'])
      input.push(call, { type: 'function_call_output', call_id: 'call_1', output: '3' })
      assert.equal((await ask()).output_text, 'Hello')
      const { messages, tools, tool_choice: choice } = asked()[1] as OpenAI.ChatCompletionCreateParams
      assert.deepEqual(messages, [{ role: 'user', content: 'Add' }, { role: 'assistant', content: null, tool_calls: [CALL] }, { role: 'tool', tool_call_id: 'call_1', content: '3' }])
      const { type, ...declared } = ADD
      assert.deepEqual([tools, choice], [[{ type, function: declared }], { type: 'function', function: { name: 'add' } }])
    })

    it(`runs a registered prompt by its id, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { client, asked } = await answering(hello)
      const request = { prompt: { id: 'ask', variables: { mood: 'kind' } }, input: [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: 'Hi' }, { type: 'input_image' as const, image_url: 'data:image/png;base64,AA', detail: 'low' as const }] }] }
      const response = stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request)
      assert.equal(response.output_text, 'Hello')
      assert.deepEqual([asked()[0]?.model, asked()[0]?.messages], ['from-prompt', [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AA', detail: 'low' } }] }]])
    })

    it(`raises what goes wrong, ${stream ? 'streamed' : 'whole'}`, async t => {
      const { client } = await startOfficialClient(t, (_hit, response) => sendJson(response, 500, {}), registrations)
      await assert.rejects(client.responses.create({ model: 'm', input: 'Hi', stream }), (error: unknown) => error instanceof InternalServerError && error.code === 'LLM_UPSTREAM')
      await assert.rejects(client.responses.create({ prompt: { id: 'gone' }, stream }), (error: unknown) => error instanceof NotFoundError && error.code === 'PROMPT_NOT_FOUND')
    })
  }

  it('takes a call, a text and a result in the order of its own stream as a history for strict APIs', async () => {
    const { client, asked } = await answering(hello)
    const text = { type: 'message' as const, role: 'assistant' as const, content: 'Let me see.' }
    const called = (id: string) => ({ type: 'function_call' as const, call_id: id, name: 'add', arguments: '{"a":1,"b":2}' })
    const gave = (id: string) => ({ type: 'function_call_output' as const, call_id: id, output: '3' })
    const sent = [{ role: 'user', content: 'Add' }, { role: 'assistant', content: 'Let me see.', tool_calls: [CALL] }, { role: 'tool', tool_call_id: 'call_1', content: '3' }]
    for (const items of [[called('call_1'), text, gave('call_1')], [text, called('call_1'), gave('call_1')]]) {
      await client.responses.create({ model: 'm', input: [{ role: 'user', content: 'Add' }, ...items] })
      assert.deepEqual(asked().at(-1)?.messages, sent)
    }
  })

  it('runs a version of a prompt', async t => {
    const { client, service, asked } = await startOfficialClient(t, hello, registrations)
    await service.post('/api/prompts/ask/versions', {})
    await service.app.inject({ method: 'PUT', url: '/api/prompts/ask', payload: { userPrompt: 'Another' } })
    await client.responses.create({ prompt: { id: 'ask', version: '1', variables: { mood: { type: 'input_text', text: 'brief' } } } })
    assert.deepEqual(asked()[0]?.messages, [{ role: 'system', content: 'Be brief.' }])
  })

  it('gets structured output, of its own and of a prompt', async () => {
    const { client, asked } = await answering((_hit, response) => sendJson(response, 200, completion('{"score":3}')))
    const format = { type: 'json_schema' as const, name: 'score', schema: { type: 'object' }, strict: true }
    const response = await client.responses.parse({ model: 'm', input: 'x', text: { format } })
    assert.equal(response.output_text, '{"score":3}')
    assert.deepEqual(asked()[0]?.response_format, { type: 'json_schema', json_schema: { name: 'score', schema: { type: 'object' }, strict: true } })
    assert.equal((await client.responses.create({ prompt: { id: 'score' } })).output_text, '{"score":3}')
  })

  it('tells an answer that was too long from a whole one', async () => {
    const { client } = await answering(inPieces([{ role: 'assistant', content: 'Hel' }], 'length'))
    const events = await eventsOf(await client.responses.create({ model: 'm', input: 'Hi', stream: true }))
    const last = events.at(-1)
    assert.ok(last?.type === 'response.incomplete')
    assert.deepEqual([last.response.incomplete_details, last.response.model], [{ reason: 'max_output_tokens' }, 'm-1'])
  })

  it('keeps texts, refusals and calls that take turns apart', async () => {
    const { client } = await answering(inPieces([
      { role: 'assistant', content: 'Let me see.' },
      { refusal: 'No.' },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }, { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '[' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '}' } }, { index: 1, function: { arguments: ']' } }] }
    ]))
    const { output } = await client.responses.stream({ model: 'm', input: 'Hi' }).finalResponse()
    const [message, ...calls] = output
    assert.ok(message?.type === 'message')
    assert.deepEqual(message.content.map(part => part.type === 'refusal' ? part.refusal : part.text), ['Let me see.', 'No.'])
    assert.deepEqual(calls.map(call => call.type === 'function_call' ? [call.call_id, call.name, call.arguments] : call), [['a', 'f', '{}'], ['b', 'g', '[]']])
  })

  it('raises a stream that is cut', async () => {
    const { client } = await answering((_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n')
    })
    await assert.rejects(async () => await eventsOf(await client.responses.create({ model: 'm', input: 'Hi', stream: true })), /cut short/)
  })

  const REFUSED: ReadonlyArray<readonly [what: string, request: object, message: RegExp]> = [
    ['a response that is stored', { store: true }, /store must be false or left out: no response is stored/],
    ['a stored response', { previous_response_id: 'resp_1' }, /previous_response_id must be left out/],
    ['a conversation', { conversation: 'conv_1' }, /conversation must be left out/],
    ['work in the background', { background: true }, /background/],
    ['a tool of OpenAI\'s own', { tools: [{ type: 'web_search' }] }, /tools\.0\.type must be "function"/],
    ['a reference to an item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, /input\.0 is an item_reference.*store: false/],
    ['an item of a tool of OpenAI\'s own', { input: [{ type: 'computer_call' }] }, /input\.0\.type must be/],
    ['a part that no chat has', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, /input\.0\.content\.0 must be/],
    ['no input', { input: undefined }, /input is missing/],
    ['instructions beside a prompt', { prompt: { id: 'ask' }, instructions: 'Be rude.' }, /instructions must be left out/],
    ['a system message beside a prompt', { prompt: { id: 'ask' }, input: [{ role: 'developer', content: 'Be rude.' }] }, /input\.0\.role must be "user" or "assistant"/]
  ]
  for (const [what, request, message] of REFUSED) {
    it(`is refused ${what}, in words`, async () => {
      const { client, upstream } = await answering(hello)
      await assert.rejects(client.responses.create({ model: 'm', input: 'Hi', ...request } as OpenAI.Responses.ResponseCreateParamsNonStreaming), (error: unknown) => error instanceof BadRequestError && error.code === 'REQUEST_INVALID' && message.test(error.message))
      assert.equal(upstream.hits.length, 0)
    })
  }

  it('is told that there are no stored responses', async () => {
    const { client } = await answering(hello)
    await assert.rejects(client.responses.retrieve('resp_1'), (error: unknown) => error instanceof NotFoundError && /no responses are stored/.test(error.message))
  })
})

describe('the default model of @ai-sdk/openai', () => {
  const prompt = [{ role: 'system' as const, content: 'Be kind.' }, { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]

  it('answers', async () => {
    const { origin, asked } = await answering(hello)
    const { content, finishReason, usage } = await createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'x' })('gpt-4.1').doGenerate({ prompt })
    assert.deepEqual([content.map(part => part.type === 'text' ? part.text : part.type), finishReason.unified, usage.inputTokens.total], [['Hello'], 'stop', 19])
    assert.deepEqual(asked()[0]?.messages, [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: 'Hi' }])
  })

  it('streams a text and a call', async () => {
    const { origin } = await answering(callsAdd)
    const model = createOpenAI({ baseURL: `${origin}/v1`, apiKey: 'x' })('gpt-4.1')
    const read = async () => {
      const { stream } = await model.doStream({ prompt, tools: [{ type: 'function', name: 'add', inputSchema: { type: 'object', properties: {} } }] })
      const parts: string[] = []
      for await (const part of stream) {
        if (part.type === 'text-delta') parts.push(part.delta)
        if (part.type === 'tool-call') parts.push(`${part.toolName} ${part.input}`)
        if (part.type === 'error') throw new Error(JSON.stringify(part.error))
        if (part.type === 'finish') parts.push(part.finishReason.unified)
      }
      return parts
    }
    assert.deepEqual(await read(), ['add {"a":1,"b":2}', 'tool-calls'])
    assert.deepEqual(await read(), ['Hel', 'lo', 'stop'])
  })
})
