import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type OpenAI from 'openai'
import { APIError } from 'openai'
import { startOfficialClient } from '../helpers/official-client.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { type Answer, completion, sendCompletionStream, sendJson, startUpstream } from '../helpers/upstream-server.ts'

interface Call { readonly id: string, readonly name: string, readonly arguments: string }

const lookUp: Call = { id: 'call_1', name: 'codebase_lookup_ref', arguments: '{"symbol":"CreateObject"}' }
const ask = { model: 'prompt:ask', messages: [] }

/** What is registered, with the tool's server in it. */
function registrations (toolUrl: string, defaults: object = { toolLoop: { tools: ['codebase.lookup_ref'] } }, tool: object = {}) {
  return {
    'tools:codebase:lookup_ref': {
      type: 'restful',
      url: `${toolUrl}/refs`,
      description: 'Finds references',
      parameters: { type: 'object', properties: { symbol: { type: 'string' }, limit: { type: 'integer', default: 10 } }, required: ['symbol'] },
      ...tool
    },
    'templates:ask': { userPrompt: 'Who calls CreateObject?', defaults }
  }
}

function asksFor (calls: readonly Call[], content: string | null = null): object {
  const toolCalls = calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } }))
  return completion('', { choices: [{ index: 0, message: { role: 'assistant', content, tool_calls: toolCalls }, finish_reason: 'tool_calls' }] })
}

function streamCalls (response: ServerResponse, text: string, calls: readonly Call[]): void {
  const send = (delta: object, finish: string | null = null) => response.write(`data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  send({ role: 'assistant', content: text })
  for (const [index, call] of calls.entries()) {
    send({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] })
    for (const piece of call.arguments.match(/.{1,5}/g) ?? []) send({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  send({}, 'tool_calls')
  response.end('data: [DONE]\n\n')
}

/** A tool's server that counts its calls, and a model that follows a script. */
async function start (t: TestContext, answer: Answer, { defaults, tool, toolStatus = 200, result = ['main.go:12'] }: { defaults?: object, tool?: object, toolStatus?: number, result?: unknown } = {}) {
  const tools = await startUpstream((_hit, response) => sendJson(response, toolStatus, result))
  t.after(() => tools.close())
  const origin = tools.baseUrl.replace('/v1', '')
  return { tools, ...await startOfficialClient(t, answer, registrations(origin, defaults, tool)) }
}

describe('a tool loop', () => {
  const once = (...calls: Call[]): Answer => (_hit, response, count) => sendJson(response, 200, count === 1 ? asksFor(calls) : completion('main.go'))

  it('offers the tools as functions', async t => {
    const { client, asked } = await start(t, once(lookUp))
    await client.chat.completions.create(ask)
    assert.deepEqual(asked()[0]?.tools, [{
      type: 'function',
      function: { name: 'codebase_lookup_ref', description: 'Finds references', parameters: { type: 'object', properties: { symbol: { type: 'string' }, limit: { type: 'integer', default: 10 } }, required: ['symbol'] } }
    }])
    assert.equal(Object.hasOwn(asked()[0] ?? {}, 'toolLoop'), false)
  })

  it('makes the calls and feeds the results back', async t => {
    const { client, asked, tools } = await start(t, once(lookUp))
    const answer = await client.chat.completions.create(ask)
    assert.equal(answer.choices[0]?.message.content, 'main.go')
    assert.deepEqual(tools.hits.map(({ body }) => JSON.parse(body) as unknown), [{ symbol: 'CreateObject', limit: 10 }])
    assert.deepEqual(asked()[1]?.messages.map(message => [message.role, message.content]), [['user', 'Who calls CreateObject?'], ['assistant', null], ['tool', '["main.go:12"]']])
  })

  it('makes equal calls each time that the model asks', async t => {
    const { client, tools } = await start(t, once(lookUp, { ...lookUp, id: 'call_2' }))
    await client.chat.completions.create(ask)
    assert.equal(tools.hits.length, 2)
  })

  it('offers the tools that the templates refer to when none is named', async t => {
    const { asked, client, service, tools } = await start(t, (_hit, response) => sendJson(response, 200, completion('ok')), { defaults: { toolLoop: true } })
    service.store.set('shenma:templates:ask', JSON.stringify({ userPrompt: 'Refs: {{codebase_lookup_ref "X"}}', defaults: { toolLoop: true } }))
    await service.post('/api/status/reload')
    await client.chat.completions.create(ask)
    assert.deepEqual(asked()[0]?.tools?.map(tool => tool.type === 'function' && tool.function.name), ['codebase_lookup_ref'])
    assert.equal(tools.hits.length, 1)
  })

  it('leaves the tools field out when there is nothing to offer', async t => {
    const { asked, client } = await start(t, (_hit, response) => sendJson(response, 200, completion('ok')), { defaults: { toolLoop: true } })
    await client.chat.completions.create(ask)
    assert.equal(Object.hasOwn(asked()[0] ?? {}, 'tools'), false)
  })

  it('lets the model call nothing in its last turn', async t => {
    const { client, asked, tools } = await start(t, (hit, response) => {
      const isLast = (JSON.parse(hit.body) as OpenAI.ChatCompletionCreateParams).tool_choice === 'none'
      sendJson(response, 200, isLast ? completion('enough') : asksFor([lookUp]))
    }, { defaults: { toolLoop: { tools: ['codebase_lookup_ref'], maxTurns: 3 } } })
    assert.equal((await client.chat.completions.create(ask)).choices[0]?.message.content, 'enough')
    assert.deepEqual([asked().length, tools.hits.length], [3, 2])
  })

  it('requires a call in the first turn alone, where the caller does', async t => {
    const { client, asked } = await start(t, (_hit, response, count) => sendJson(response, 200, count === 1 ? asksFor([lookUp]) : completion('main.go')))
    await client.chat.completions.create({ ...ask, tool_choice: 'required' })
    assert.deepEqual(asked().map(({ tool_choice: choice }) => choice), ['required', 'auto'])
  })

  it('ends with an error when the model never stops', async t => {
    const { client, asked } = await start(t, (_hit, response) => sendJson(response, 200, asksFor([lookUp])))
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_LOOP_ENDLESS' })
    assert.equal(asked().length, 5)
  })

  it('ends with an error when the model calls too much at once', async t => {
    const { client, tools } = await start(t, once(...Array<Call>(101).fill(lookUp)))
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_LOOP_ENDLESS' })
    assert.equal(tools.hits.length, 0)
  })

  it('ends with an error when the tools give more than 8 MiB together', async t => {
    const { client, asked } = await start(t, once(...Array<Call>(9).fill(lookUp)), { result: 'x'.repeat(1024 * 1024 - 2) })
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_LOOP_ENDLESS', message: /its calls and their results are larger than 8388608 bytes together/ })
    assert.equal(asked().length, 1)
  })

  it('ends with an error when the model\'s arguments are larger than 8 MiB together', async t => {
    const large = { ...lookUp, arguments: JSON.stringify({ symbol: 'x'.repeat(900 * 1024) }) }
    const { client, asked } = await start(t, (_hit, response) => sendJson(response, 200, asksFor([large])), { defaults: { toolLoop: { tools: ['codebase.lookup_ref'], maxTurns: 20 } } })
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_LOOP_ENDLESS', message: /larger than 8388608 bytes together/ })
    assert.equal(asked().length, 10)
  })

  const mistakes = [
    ['arguments that are not JSON', '{"symbol":', /^\{"error":"the arguments are not JSON/],
    ['arguments that are no object', '[1]', /^\{"error":"the arguments are not a JSON object/],
    ['arguments that the tool does not take', '{"symbol":7}', /^\{"error":"[^"]*arguments\.symbol must be string/]
  ] as const
  for (const [title, text, expected] of mistakes) {
    it(`tells the model of ${title}`, async t => {
      const { client, asked, tools } = await start(t, once({ ...lookUp, arguments: text }))
      await client.chat.completions.create(ask)
      assert.match(String(asked()[1]?.messages.at(-1)?.content), expected)
      assert.equal(tools.hits.length, 0)
    })
  }

  it('tells the model of a function that nobody has declared', async t => {
    const { client, asked } = await start(t, once(lookUp, { id: 'call_2', name: 'constructor', arguments: '{}' }))
    const { choices } = await client.chat.completions.create(ask)
    assert.equal(choices[0]?.message.content, 'main.go')
    assert.deepEqual(asked()[1]?.messages.slice(-2).map(({ content }) => content), ['["main.go:12"]', '{"error":"there is no function \\"constructor\\""}'])
  })

  it('leaves a call that is of no function to the caller', async t => {
    const custom = { id: 'call_1', type: 'custom', custom: { name: 'codebase_lookup_ref', input: 'x' } }
    const { client, upstream } = await start(t, (_hit, response) => sendJson(response, 200, completion('', { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: [custom] }, finish_reason: 'tool_calls' }] })))
    assert.deepEqual((await client.chat.completions.create(ask)).choices[0]?.message.tool_calls, [custom])
    assert.equal(upstream.hits.length, 1)
  })

  it('tells the model of a tool that has failed', async t => {
    const { client, asked } = await start(t, once(lookUp), { toolStatus: 500 })
    await client.chat.completions.create(ask)
    assert.match(String(asked()[1]?.messages.at(-1)?.content), /^\{"error":/)
  })

  it('gives the model the default of a tool that has failed', async t => {
    const { client, asked } = await start(t, once(lookUp), { toolStatus: 500, tool: { default: ['none known'] } })
    await client.chat.completions.create(ask)
    assert.equal(asked()[1]?.messages.at(-1)?.content, '["none known"]')
  })

  it('ends when a tool that says so has failed', async t => {
    const { client } = await start(t, once(lookUp), { toolStatus: 500, tool: { onError: 'abort' } })
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_FAILED' })
  })

  for (const stream of [false, true]) {
    it(`ends with a documented error when a ${stream ? 'streamed ' : ''}message is too deep to be sent back`, async t => {
      const deep = `{"id":"1","x":${'['.repeat(200_000)}${']'.repeat(200_000)},"function":{"name":"codebase_lookup_ref","arguments":"{}"}}`
      const { origin } = await start(t, (_hit, response) => {
        if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: {"choices":[{"index":0,"delta":{"tool_calls":[${deep}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`)
        else response.end(`{"choices":[{"message":{"tool_calls":[${deep}]}}]}`)
      })
      const response = await fetch(`${origin}/api/chat/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ stream }) })
      const { code, message } = await response.json() as { code: string, message: string }
      assert.deepEqual([response.status, code], [502, 'LLM_UPSTREAM'])
      assert.match(message, /nests deeper than 100/)
    })
  }

  it('leaves calls of the caller\'s own tools to the caller', async t => {
    const own: Call = { id: 'call_2', name: 'mine', arguments: '{}' }
    const { client, tools, asked } = await start(t, once(lookUp, own))
    const answer = await client.chat.completions.create({ ...ask, tools: [{ type: 'function', function: { name: 'mine' } }] })
    assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
    assert.equal(tools.hits.length, 0)
    assert.equal(asked()[0]?.tools?.length, 2)
  })

  it('answers one choice only', async t => {
    const { client } = await start(t, once(lookUp))
    await assert.rejects(client.chat.completions.create({ ...ask, n: 2 }), { status: 400 })
  })

  it('ends at the client\'s leaving, with its tools', async t => {
    const leaver = new AbortController()
    const tools = await startUpstream(() => leaver.abort())
    t.after(() => tools.close())
    const { client, upstream } = await startOfficialClient(t, once(lookUp), registrations(tools.baseUrl))
    await assert.rejects(client.chat.completions.create(ask, { signal: leaver.signal }))
    await tools.allClosed()
    assert.equal(upstream.hits.length, 1)
  })

  it('ends in time, whatever its tools do, and asks the model no more', async t => {
    const tools = await startUpstream(() => {})
    t.after(() => tools.close())
    const { client, upstream } = await startOfficialClient(t, once(lookUp), registrations(tools.baseUrl), { LLM_TIMEOUT_MS: '2000' })
    await assert.rejects(client.chat.completions.create(ask), { status: 502, code: 'TOOL_LOOP_ENDLESS', message: /its tools left no time for another turn within LLM_TIMEOUT_MS/ })
    assert.equal(upstream.hits.length, 1)
  })

  it('counts every turn', async t => {
    const { client, service } = await start(t, once(lookUp))
    await client.chat.completions.create(ask)
    const { rows: [row] } = (await service.get('/api/usage?by=prompt')).json as unknown as { rows: Array<Record<'prompt' | 'calls' | 'inputTokens', unknown>> }
    assert.deepEqual([row?.prompt, row?.calls, row?.inputTokens], ['ask', 2, 38])
  })

  for (const stream of [false, true]) {
    it(`says what it has done when a budget is used up in the middle of it${stream ? ', streamed' : ''}`, async t => {
      const folder = await createTemporaryFolder()
      t.after(folder.remove)
      await folder.write('operator.yaml', 'budgets: { team: { day: { tokens: 20 } } }')
      const tools = await startUpstream((_hit, response) => sendJson(response, 200, ['main.go:12']))
      t.after(() => tools.close())
      const answer: Answer = (_hit, response, count) => {
        if (stream) streamCalls(response, '', [{ ...lookUp, id: `call_${count}` }])
        else sendJson(response, 200, asksFor([{ ...lookUp, id: `call_${count}` }]))
      }
      const { origin, upstream } = await startOfficialClient(t, answer, registrations(tools.baseUrl.replace('/v1', '')), { OPERATOR_FILE: join(folder.path, 'operator.yaml') })
      const response = await fetch(`${origin}/api/chat/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ stream, max_tokens: 1 }) })
      const text = await response.text()
      assert.deepEqual([upstream.hits.length, tools.hits.length], [1, 1])
      assert.match(text, /Budget .+ of 20 tokens a day is used up, .+; the model has answered 1 times before, and called 1 tools/)
      if (stream) return assert.match(text, /"code":"BUDGET_USED"/)
      const { code, details } = JSON.parse(text) as { code: string, details: Record<string, unknown> }
      assert.deepEqual([response.status, code, details['budget'], details['turns'], details['toolSteps']], [429, 'BUDGET_USED', 'team', 1, [{ tool: 'codebase.lookup_ref', outcome: 'ok' }]])
      assert.ok(Number(response.headers.get('retry-after')) > 0)
    })
  }

  it('costs what all its turns cost', async t => {
    const { origin } = await start(t, (_hit, response, count) => sendJson(response, 200, { ...count === 1 ? asksFor([lookUp]) : completion('main.go'), model: 'gpt-4o', usage: { prompt_tokens: 100, completion_tokens: 10 } }))
    const response = await fetch(`${origin}/api/chat/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
    assert.equal(response.headers.get('x-cost'), 'usd=0.000700000')
  })

  it('keeps a prompt from running whose tool is not there', async t => {
    const { client } = await start(t, once(lookUp), { defaults: { toolLoop: { tools: ['codebase.lookup'] } } })
    await assert.rejects(client.chat.completions.create(ask), (error: unknown) => error instanceof APIError && error.code === 'TEMPLATE_LINK' && error.message.includes('codebase.lookup'))
  })
})

describe('a streamed tool loop', () => {
  it('shows the text of all turns, a comment a call, and one end', async t => {
    const { origin, asked, tools } = await start(t, (_hit, response, count) => count === 1 ? streamCalls(response, 'Let me see. ', [lookUp, { ...lookUp, id: 'call_2' }]) : sendCompletionStream(response, ['main', '.go']))
    const response = await fetch(`${origin}/api/chat/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"stream":true}' })
    const events = (await response.text()).split('\n\n')
    const contents = events.filter(event => event.startsWith('data: {')).map(event => (JSON.parse(event.slice(6)) as OpenAI.ChatCompletionChunk).choices[0])
    assert.equal(contents.map(choice => choice?.delta.content ?? '').join(''), 'Let me see. main.go')
    assert.deepEqual(contents.map(choice => choice?.finish_reason).filter(reason => reason !== null), ['stop'])
    assert.equal(contents.filter(choice => choice?.delta.tool_calls !== undefined).length, 0)
    assert.equal(events.filter(event => event.startsWith(': tool codebase.lookup_ref ok')).length, 2)
    assert.equal(events.filter(event => event.includes('[DONE]')).length, 1)
    assert.equal(tools.hits.length, 2)
    assert.deepEqual(asked()[1]?.messages.slice(1).map(message => message.role), ['assistant', 'tool', 'tool'])
    assert.deepEqual(asked()[1]?.messages[1], { role: 'assistant', content: 'Let me see. ', tool_calls: [lookUp, { ...lookUp, id: 'call_2' }].map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } })) })
  })

  it('tells the role once, also of a turn whose beginning is not shown', async t => {
    for (const text of ['See: ', '']) {
      const { origin } = await start(t, (_hit, response, count) => count < 3 ? streamCalls(response, text, [{ ...lookUp, id: `call_${count}` }]) : sendCompletionStream(response, ['main.go']))
      const response = await fetch(`${origin}/api/chat/prompts/ask`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"stream":true}' })
      const chunks = (await response.text()).split('\n\n').filter(event => event.startsWith('data: {')).map(event => JSON.parse(event.slice(6)) as OpenAI.ChatCompletionChunk)
      assert.deepEqual(chunks.map(({ choices }) => choices[0]?.delta.role).filter(role => role !== undefined), ['assistant'])
      assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), `${text}${text}main.go`)
    }
  })

  it('shows the model its reasoning, and nothing that a strict API does not know, as a loop that is not streamed does', async t => {
    const message = { role: 'assistant', content: 'See', reasoning_content: 'I think', reasoning_details: [{ text: 'I' }, { text: ' think' }], tool_calls: [{ id: 'call_1', type: 'function', function: { name: lookUp.name, arguments: lookUp.arguments } }] }
    const deltas = [{ role: 'assistant', content: '', reasoning_content: null }, { reasoning_content: 'I', reasoning_details: [{ text: 'I' }] }, { reasoning_content: ' think', reasoning_details: [{ text: ' think' }] }, { content: 'See', vendor: { a: 1 } }, { tool_calls: [{ index: 0, ...message.tool_calls[0] }] }]
    const { client, asked } = await start(t, (_hit, response, count) => {
      if (count === 1) sendJson(response, 200, completion('', { choices: [{ index: 0, message: { ...message, vendor: { a: 1 } }, finish_reason: 'tool_calls' }] }))
      else if (count === 2) sendJson(response, 200, completion('main.go'))
      else if (count === 3) response.writeHead(200, { 'content-type': 'text/event-stream' }).end([...deltas.map((delta, index) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: index === deltas.length - 1 ? 'tool_calls' : null }] })}\n\n`), 'data: [DONE]\n\n'].join(''))
      else sendCompletionStream(response, ['main.go'])
    })
    await client.chat.completions.create(ask)
    await client.chat.completions.stream(ask).finalContent()
    assert.deepEqual(asked()[1]?.messages[1], message)
    assert.deepEqual(asked()[3]?.messages[1], message)
  })

  it('tells in the error event why a later turn was refused', async t => {
    const { client } = await start(t, (_hit, response, count) => count === 1 ? streamCalls(response, 'See: ', [lookUp]) : sendJson(response, 400, { error: { message: 'messages.2: too long', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' } }))
    await assert.rejects(client.chat.completions.stream(ask).finalContent(), (error: unknown) => {
      assert.ok(error instanceof APIError)
      assert.match(error.message, /refused the request with status 400: messages\.2: too long$/)
      return error.code === 'context_length_exceeded'
    })
  })

  it('reads as one answer to the official client', async t => {
    const { client } = await start(t, (_hit, response, count) => count === 1 ? streamCalls(response, 'See: ', [lookUp]) : sendCompletionStream(response, ['main.go']))
    assert.equal(await client.chat.completions.stream(ask).finalContent(), 'See: main.go')
  })

  it('passes calls of the caller\'s own tools on', async t => {
    const own: Call = { id: 'call_2', name: 'mine', arguments: '{"a":1}' }
    const { client } = await start(t, (_hit, response) => streamCalls(response, '', [own]))
    const stream = client.chat.completions.stream({ ...ask, tools: [{ type: 'function', function: { name: 'mine', parameters: {} } }] })
    const { message } = (await stream.finalChatCompletion()).choices[0] ?? {}
    assert.deepEqual(message?.tool_calls?.map(call => call.type === 'function' && call.function.arguments), ['{"a":1}'])
  })

  it('ends with an error event when a later turn fails', async t => {
    const { client } = await start(t, (_hit, response, count) => count === 1 ? streamCalls(response, 'See: ', [lookUp]) : sendJson(response, 401, {}))
    await assert.rejects(client.chat.completions.stream(ask).finalContent(), (error: unknown) => error instanceof APIError && error.code === 'LLM_AUTH')
  })

  it('ends with an error event when the model never stops', async t => {
    const { client } = await start(t, (_hit, response) => streamCalls(response, '', [lookUp]))
    await assert.rejects(client.chat.completions.stream(ask).finalContent(), (error: unknown) => error instanceof APIError && error.code === 'TOOL_LOOP_ENDLESS')
  })
})
