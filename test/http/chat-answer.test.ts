import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { APIError } from 'openai'
import { sharedOfficialClient, startOfficialClient } from '../helpers/official-client.ts'
import { type Answer, completion, sendCompletionStream, sendJson } from '../helpers/upstream-server.ts'

const returns = { type: 'object', properties: { score: { type: 'integer', minimum: 0 } }, required: ['score'], additionalProperties: false }
const registrations = {
  'templates:rate': { userPrompt: 'Rate it', structured: true, returns, defaults: { model: 'judge', fallbacks: ['second'] } },
  'templates:short': { userPrompt: 'Read {{variables.text}}', defaults: { maxInputTokens: 20 } }
}
const rate = { model: 'prompt:rate', messages: [] }
const says = (content: string): Answer => (_hit, response) => sendJson(response, 200, completion(content))

const answering = sharedOfficialClient(registrations)

describe('a structured prompt', () => {
  it('asks for what it returns', async () => {
    const { client, asked } = await answering(says('{"score":3}'))
    await client.chat.completions.create(rate)
    assert.deepEqual(asked()[0]?.response_format, { type: 'json_schema', json_schema: { name: 'rate', schema: returns } })
  })

  it('takes null for a field that is left out: the answer is checked, and defaults stay', async () => {
    const { service, asked } = await answering(says('three'))
    const { json } = await service.post('/api/chat/prompts/rate', { response_format: null, temperature: null })
    assert.equal(json['code'], 'ANSWER_INVALID')
    assert.deepEqual(Object.keys(asked()[0] ?? {}).sort(), ['messages', 'model', 'response_format'])
    assert.equal(asked()[0]?.model, 'judge')
  })

  const wrong = [
    ['{"score":-1,"x":1}', ['answer.score must be >= 0', 'answer.x is not expected']],
    ['{}', ['answer.score is required']],
    ['three', ['answer is not JSON: ']],
    ['', ['answer is not JSON: the text is empty']]
  ] as const
  for (const [content, violations] of wrong) {
    it(`answers 502 with the violations of "${content}"`, async () => {
      const { client, service, upstream } = await answering(says(content))
      const { status, json } = await service.post('/api/chat/prompts/rate')
      assert.equal(status, 502)
      assert.equal(json['code'], 'ANSWER_INVALID')
      const told = json['details']?.['violations'] as unknown as Array<{ path: string, message: string }>
      for (const violation of violations) assert.ok(told.some(({ path, message }) => `${path} ${message}`.startsWith(violation)), JSON.stringify(told))
      await assert.rejects(client.chat.completions.create(rate), { status: 502, code: 'ANSWER_INVALID' })
      assert.equal(upstream.hits.length, 2)
    })

    it(`ends a stream of "${content}" with an error event`, async () => {
      const { client } = await answering((_hit, response) => sendCompletionStream(response, content.match(/.{1,3}/g) ?? []))
      let read = ''
      await assert.rejects(async () => {
        for await (const chunk of await client.chat.completions.create({ ...rate, stream: true })) read += chunk.choices[0]?.delta.content ?? ''
      }, (error: unknown) => error instanceof APIError && error.code === 'ANSWER_INVALID')
      assert.equal(read, content)
    })
  }

  it('streams an answer that fits as it came', async () => {
    const { origin, upstream } = await answering((_hit, response) => sendCompletionStream(response, ['{"sco', 're":3}'], {}, true))
    const call = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const ours = await fetch(`${origin}/api/chat/prompts/rate`, { ...call, body: '{"stream":true}' })
    const theirs = await fetch(`${upstream.baseUrl}/chat/completions`, { ...call, body: '{}' })
    assert.equal(await ours.text(), await theirs.text())
  })

  it('lets a refusal of the model pass', async () => {
    const message = { role: 'assistant', content: null, refusal: 'I will not' }
    const { client } = await answering((_hit, response) => sendJson(response, 200, completion('', { choices: [{ index: 0, message, finish_reason: 'stop' }] })))
    assert.equal((await client.chat.completions.create(rate)).choices[0]?.message.refusal, 'I will not')
  })

  it('gives way to a format that the caller asks for', async () => {
    const { client, asked } = await answering(says('plain'))
    const answer = await client.chat.completions.create({ ...rate, response_format: { type: 'text' } })
    assert.equal(answer.choices[0]?.message.content, 'plain')
    assert.deepEqual(asked()[0]?.response_format, { type: 'text' })
  })

  const refuses = (content: string): Answer => (hit, response) => {
    const knows = !hit.body.includes('response_format')
    sendJson(response, knows ? 200 : 400, knows ? completion(content) : { error: { message: 'Unknown parameter: response_format', type: 'invalid_request_error', param: 'response_format', code: null } })
  }

  it('is asked again without the format where a provider refuses it, and then at once', async t => {
    const { client, asked } = await startOfficialClient(t, refuses('{"score":3}'), registrations)
    await client.chat.completions.create(rate)
    await client.chat.completions.create(rate)
    assert.deepEqual(asked().map(request => Object.hasOwn(request, 'response_format')), [true, false, false])
  })

  it('keeps its format where another prompt\'s was refused, or a caller made the upstream name it', async t => {
    const answer: Answer = (hit, response) => {
      const isRefused = hit.body.includes('"name":"other"') || hit.body.includes('"temperature":9')
      sendJson(response, isRefused ? 400 : 200, isRefused ? { error: { message: `Invalid request: response_format or ${hit.body}` } } : completion('{"score":3}'))
    }
    const { service, client, asked } = await startOfficialClient(t, answer, { ...registrations, 'templates:other': { ...registrations['templates:rate'], userPrompt: 'Rate it too' } })
    assert.equal((await service.post('/api/chat/prompts/other')).status, 200)
    assert.equal((await service.post('/api/chat/prompts/rate', { temperature: 9, user: 'response_format', fallbacks: [] })).status, 400)
    await client.chat.completions.create(rate)
    assert.ok(asked().at(-1)?.response_format)
  })

  it('is checked without the format too', async t => {
    const { client } = await startOfficialClient(t, refuses('Three.'), registrations)
    await assert.rejects(client.chat.completions.create(rate), { code: 'ANSWER_INVALID' })
  })

  it('passes the refusal of a format on that the caller has asked for', async t => {
    const { client } = await startOfficialClient(t, refuses(''), registrations)
    await assert.rejects(client.chat.completions.create({ ...rate, response_format: { type: 'json_object' } }), { status: 400, param: 'response_format' })
  })

  it('falls back to its own models', async t => {
    const { client, asked } = await startOfficialClient(t, (hit, response) => sendJson(response, hit.body.includes('judge') ? 401 : 200, completion('{"score":3}')), registrations, { LLM_FALLBACKS: 'third' })
    await client.chat.completions.create(rate)
    assert.deepEqual(asked().map(({ model }) => model), ['judge', 'second'])
  })

  for (const [title, prompt] of Object.entries({ 'a structured prompt that returns nothing': { structured: true }, 'a schema that is none': { structured: true, returns: { type: 'objekt' } } })) {
    it(`rejects ${title}`, async t => {
      const { service } = await startOfficialClient(t, says(''), { 'templates:bad': { userPrompt: 'x', ...prompt } })
      const [problem] = (await service.get('/api/status/entries')).json as unknown as Array<{ state: string, diagnostics: Array<{ code: string }> }>
      assert.deepEqual([problem?.state, problem?.diagnostics[0]?.code], ['rejected', 'RETURNS_INVALID'])
    })
  }
})

describe('stream in the defaults of a prompt', () => {
  it('is not asked of the model, for it is the caller who reads', async t => {
    const { client, asked } = await startOfficialClient(t, says('whole'), { 'templates:ask': { userPrompt: 'Hi', defaults: { stream: true } } })
    assert.equal((await client.chat.completions.create({ model: 'prompt:ask', messages: [] })).choices[0]?.message.content, 'whole')
    assert.notEqual(asked()[0]?.stream, true)
  })
})

describe('messages in the defaults of a prompt', () => {
  it('do not take the place of its templates', async t => {
    const { client, asked } = await startOfficialClient(t, says('ok'), { 'templates:ask': { userPrompt: 'Hi', defaults: { messages: [{ role: 'user', content: 'Ho' }] } } })
    await client.chat.completions.create({ model: 'prompt:ask', messages: [] })
    assert.deepEqual(asked()[0]?.messages, [{ role: 'user', content: 'Hi' }])
  })
})

describe('maxInputTokens', () => {
  it('refuses an input above it before the model is asked', async () => {
    const { service, upstream } = await answering(says('ok'))
    const { status, json } = await service.post('/api/chat/prompts/short', { variables: { text: 'x'.repeat(100) } })
    assert.equal(status, 400)
    assert.equal(json['code'], 'INPUT_TOO_LONG')
    assert.deepEqual(json['details'], { id: 'short', estimatedTokens: 31, maxInputTokens: 20 })
    assert.equal(upstream.hits.length, 0)
  })

  it('lets an input below it pass, and never reaches the upstream', async () => {
    const { service, asked } = await answering(says('ok'))
    assert.equal((await service.post('/api/chat/prompts/short', { variables: { text: 'x' } })).status, 200)
    assert.deepEqual(Object.keys(asked()[0] ?? {}), ['messages'])
  })
})

describe('usage', () => {
  it('is counted per prompt and model as the provider tells it', async t => {
    const { service } = await startOfficialClient(t, says('{"score":3}'), registrations)
    await service.post('/api/chat/prompts/rate')
    await service.post('/api/chat/prompts/rate')
    assert.deepEqual(await rowsOf(service), [{ prompt: 'rate', model: 'gpt-4.1-2025-04-14', calls: 2, estimatedCalls: 0, inputTokens: 38, outputTokens: 20, costUsd: (38 * 2 + 20 * 8) / 1e6 }])
  })

  it('is estimated where the provider is silent, and the reply says so', async t => {
    const { service } = await startOfficialClient(t, (_hit, response) => sendJson(response, 200, { model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: '12345678' }, finish_reason: 'stop' }] }), registrations)
    const { headers, json } = await service.post('/api/chat/prompts/short', { variables: { text: 'abc' } })
    assert.equal(headers['x-usage-estimate'], 'prompt_tokens=6, completion_tokens=2')
    assert.equal(Object.hasOwn(json, 'usage'), false)
    assert.deepEqual(await rowsOf(service), [{ prompt: 'short', model: 'm', calls: 1, estimatedCalls: 1, inputTokens: 6, outputTokens: 2, costUsd: undefined }])
  })

  it('is estimated alike for the same answer whole and streamed, calls of tools and other alphabets too', async t => {
    const call = { id: 'c', type: 'function', function: { name: 'look', arguments: `{"a":"${'x'.repeat(100)}"}` } }
    const { client, service } = await startOfficialClient(t, (hit, response) => {
      const delta = { role: 'assistant', content: '世界', tool_calls: [{ index: 0, ...call }] }
      if (hit.body.includes('"stream":true')) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta, finish_reason: 'tool_calls' }] })}\n\ndata: [DONE]\n\n`)
      else sendJson(response, 200, { model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: '世界', tool_calls: [call] }, finish_reason: 'tool_calls' }], usage: null })
    }, registrations)
    const request = { model: 'any', messages: [{ role: 'user' as const, content: 'Hi' }] }
    const whole = await client.chat.completions.create(request).withResponse()
    await client.chat.completions.stream(request).done()
    const tokens = Math.ceil((6 + call.function.arguments.length) / 4)
    assert.equal(whole.response.headers.get('x-usage-estimate'), `prompt_tokens=5, completion_tokens=${tokens}`)
    assert.deepEqual((await rowsOf(service)).map(({ calls, outputTokens }) => [calls, outputTokens]), [[2, 2 * tokens]])
  })

  it('is counted for streams', async t => {
    const { client, service } = await startOfficialClient(t, (hit, response) => sendCompletionStream(response, ['12345678'], { model: 'm' }, hit.body.includes('include_usage')), registrations)
    await client.chat.completions.stream({ model: 'prompt:rate', messages: [], response_format: { type: 'text' } }).done()
    await client.chat.completions.stream({ model: 'any', messages: [{ role: 'user', content: 'Hi' }], stream_options: { include_usage: true } }).done()
    assert.deepEqual((await rowsOf(service)).map(({ prompt, estimatedCalls, outputTokens }) => [prompt, estimatedCalls, outputTokens]), [['rate', 1, 2], ['', 0, 10]])
  })
})

describe('a provider at its limit', () => {
  it('answers 503 with Retry-After', async t => {
    const { service, upstream } = await startOfficialClient(t, () => {}, registrations, { LLM_CONCURRENCY: '1', LLM_QUEUE: '0', LLM_TIMEOUT_MS: '2000' })
    const first = service.post('/api/chat/prompts/short', { variables: { text: 'a' } })
    const second = await service.post('/api/chat/prompts/short', { variables: { text: 'a' } })
    assert.equal(second.status, 503)
    assert.equal(second.json['code'], 'LLM_BUSY')
    assert.equal(second.headers['retry-after'], '1')
    await upstream.close()
    assert.equal((await first).status, 502)
  })
})

/** What \`GET /api/usage\` says of each prompt and model. */
async function rowsOf (service: Pick<Awaited<ReturnType<typeof startOfficialClient>>['service'], 'get'>) {
  const { rows } = (await service.get('/api/usage?by=prompt,model')).json as unknown as { rows: Array<Record<'prompt' | 'model', string> & Record<'calls' | 'estimatedCalls' | 'inputTokens' | 'outputTokens' | 'costUsd', number>> }
  return rows.map(({ prompt, model, calls, estimatedCalls, inputTokens, outputTokens, costUsd }) => ({ prompt, model, calls, estimatedCalls, inputTokens, outputTokens, costUsd }))
}
