import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import OpenAI, { type APIError, APIUserAbortError, BadRequestError, ConflictError, InternalServerError, NotFoundError, RateLimitError } from 'openai'
import { sharedOfficialClient, startOfficialClient } from '../../helpers/official-client.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { type Answer, completion, sendCompletionStream, sendJson } from '../../helpers/upstream-server.ts'

const registrations = {
  'templates:team:ask': { messages: [{ role: 'system', content: 'Be {{variables.mood}}.' }], defaults: { model: 'from-prompt', temperature: 0.2 } },
  'templates:plain': { userPrompt: 'Hello' }
}
const hello: Answer = (_hit, response) => sendJson(response, 200, completion('Hello'))
const user = { role: 'user' as const, content: 'Hi' }

/** Parameters of ours beside OpenAI's. */
function extended (parameters: object): OpenAI.ChatCompletionCreateParamsNonStreaming {
  return parameters as OpenAI.ChatCompletionCreateParamsNonStreaming
}

const answering = sharedOfficialClient(registrations)

const started = shared(suite => startService(suite, {}, { CHAT_BODY_LIMIT_BYTES: String(1024 * 1024) }))

describe('the official client as a plain proxy\'s', () => {
  it('gets a completion, and the upstream all fields as they were', async () => {
    const { client, asked } = await answering(hello)
    const request = { model: 'gpt-4.1', messages: [{ role: 'system' as const, content: 'x' }, user], seed: 7, logit_bias: { 50256: -100 }, metadata: { a: 'b' } }
    const answer = await client.chat.completions.create(request)
    assert.equal(answer.choices[0]?.message.content, 'Hello')
    assert.equal(answer.usage?.total_tokens, 29)
    assert.deepEqual(asked(), [request])
  })

  it('gets a stream with its usage', async t => {
    const { client } = await startOfficialClient(t, (_hit, response) => sendCompletionStream(response, ['Hel', 'lo'], {}, true))
    const stream = client.chat.completions.stream({ model: 'gpt-4.1', messages: [user], stream_options: { include_usage: true } })
    assert.equal(await stream.finalContent(), 'Hello')
    assert.equal((await stream.totalUsage()).total_tokens, 29)
  })

  it('runs its own tools', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
    const { client, asked } = await answering((_hit, response, count) => sendJson(response, 200, count > 1
      ? completion('It is 3')
      : completion('', { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }] })))
    const runner = client.chat.completions.runTools({
      model: 'gpt-4.1',
      messages: [user],
      tools: [{ type: 'function', function: { name: 'add', description: 'adds', parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } }, parse: JSON.parse, function: ({ a, b }: { a: number, b: number }) => String(a + b) } }]
    })
    assert.equal(await runner.finalContent(), 'It is 3')
    assert.deepEqual(asked()[1]?.messages.at(-1), { role: 'tool', tool_call_id: 'call_1', content: '3' })
  })

  it('gets structured output', async () => {
    const { client, asked } = await answering((_hit, response) => sendJson(response, 200, completion('{"score":3}')))
    const responseFormat = { type: 'json_schema' as const, json_schema: { name: 'score', schema: { type: 'object' } } }
    const answer = await client.chat.completions.parse({ model: 'gpt-4.1', messages: [user], response_format: responseFormat })
    assert.equal(answer.choices[0]?.message.content, '{"score":3}')
    assert.deepEqual(asked()[0]?.response_format, responseFormat)
  })

  it('gets embeddings', async () => {
    const { client, upstream } = await answering((_hit, response) => sendJson(response, 200, { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }], model: 'e', usage: { prompt_tokens: 2, total_tokens: 2 } }))
    const { data } = await client.embeddings.create({ model: 'e', input: 'Hi', encoding_format: 'float' })
    assert.deepEqual(data[0]?.embedding, [0.5, 0.25])
    assert.equal(upstream.hits[0]?.path, '/v1/embeddings')
  })

  it('gets embeddings of the configured model where it names none', async t => {
    const { service, upstream } = await startOfficialClient(t, (_hit, response) => sendJson(response, 200, { object: 'list', data: [] }), {}, { LLM_MODEL: 'chat', LLM_EMBEDDING_MODEL: 'Embeddings' })
    for (const body of [{ input: 'Hi' }, { input: 'Hi', model: null }, { input: 'Hi', model: 'own' }]) await service.post('/v1/embeddings', body)
    assert.deepEqual(upstream.hits.map(({ body }) => (JSON.parse(body) as { model: string }).model), ['Embeddings', 'Embeddings', 'own'])
  })

  it('aborts the upstream when it aborts', async t => {
    const { client, upstream } = await startOfficialClient(t, (_hit, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })}\n\n`)
    })
    const stream = await client.chat.completions.create({ model: 'm', messages: [user], stream: true })
    for await (const chunk of stream) {
      assert.equal(chunk.choices[0]?.delta.content, 'Hi')
      stream.controller.abort()
    }
    await upstream.allClosed()
  })

  it('raises its own error for an abort before the first byte', async () => {
    const leaver = new AbortController()
    const { client, upstream } = await answering(() => leaver.abort())
    await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user] }, { signal: leaver.signal }), APIUserAbortError)
    await upstream.allClosed()
  })

  it('raises the upstream\'s refusal', async () => {
    const { client } = await answering((_hit, response) => sendJson(response, 400, { error: { message: 'too hot', type: 'invalid_request_error', param: 'temperature', code: 'bad' } }))
    await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user] }), (error: APIError) => {
      assert.ok(error instanceof BadRequestError)
      assert.deepEqual([error.param, error.code], ['temperature', 'bad'])
      return true
    })
  })

  it('may send null for what it leaves out', async t => {
    const { post } = await startService(t, registrations, { LLM_BASE_URL: 'builtin:echo', LLM_MODEL: 'default' })
    const nothing = { model: null, messages: null, fallbacks: null, stream: null, variables: null }
    for (const body of [{ ...nothing, messages: [user], prompt: null }, { ...nothing, prompt: { id: 'plain', variables: null, revision: null } }]) {
      const { status, json } = await post('/v1/chat/completions', body)
      assert.deepEqual([status, json['model']], [200, 'default'], JSON.stringify(json))
    }
  })

  it('passes on no prompt that is null', async () => {
    const { client, asked } = await answering(hello)
    await client.chat.completions.create(extended({ model: 'm', messages: [user], prompt: null }))
    assert.deepEqual(asked(), [{ model: 'm', messages: [user] }])
  })

  it('raises a refusal in another shape with its text', async () => {
    const { client } = await answering((_hit, response) => sendJson(response, 422, { detail: 'field required' }))
    await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user] }), { status: 422, type: 'invalid_request_error', message: /field required/ })
  })

  it('tells a quota that is used up from a rate limit, by the code and the type of the upstream', async t => {
    for (const [code, type, hits] of [['insufficient_quota', 'insufficient_quota', 1], ['rate_limit_exceeded', 'tokens', 3]] as const) {
      const { client, service, upstream } = await startOfficialClient(t, (_hit, response) => sendJson(response, 429, { error: { message: 'x', code, type } }), { 'templates:hello': 'Hello' })
      await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user] }), (error: unknown) => error instanceof RateLimitError && error.code === code && error.type === type)
      assert.equal(upstream.hits.length, hits)
      const { json } = await service.post('/api/chat/prompts/hello')
      assert.deepEqual([json['code'], json['details']?.['upstream']], ['LLM_RATE_LIMITED', { code, type }])
    }
  })

  for (const stream of [false, true]) {
    it(`raises its RateLimitError at once for an upstream that is at its limit, ${stream ? 'streamed' : 'whole'}`, async t => {
      const { client, upstream } = await startOfficialClient(t, (_hit, response) => sendJson(response, 429, { error: { message: 'org-1 is at its limit' } }, { 'retry-after': '30' }))
      await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user], stream }), (error: unknown) => {
        assert.ok(error instanceof RateLimitError)
        assert.deepEqual([error.status, error.type, error.code, error.headers.get('retry-after')], [429, 'rate_limit_error', 'LLM_RATE_LIMITED', '30'])
        assert.ok(!error.message.includes('org-1'))
        return true
      })
      assert.equal(upstream.hits.length, 1)
    })
  }

  it('asks the upstream three times at most', async t => {
    const { client, upstream } = await startOfficialClient(t, (_hit, response) => sendJson(response, 500, {}))
    await assert.rejects(client.chat.completions.create({ model: 'm', messages: [user] }), (error: unknown) => error instanceof InternalServerError && error.status === 502 && error.code === 'LLM_UPSTREAM')
    assert.equal(upstream.hits.length, 3)
  })

  it('never reaches the upstream with what is ours', async t => {
    const { client, upstream, asked } = await startOfficialClient(t, (_hit, response, count) => sendJson(response, count <= 3 ? 503 : 200, count <= 3 ? {} : completion('from b')))
    const answer = await client.chat.completions.create(extended({ model: 'a', messages: [user], fallbacks: ['b'] }))
    assert.equal(answer.choices[0]?.message.content, 'from b')
    assert.deepEqual(asked().at(-1), { model: 'b', messages: [user] })
    assert.equal(upstream.hits.length, 4)
  })
})

describe('the official client with a prompt', () => {
  it('runs it by model and variables', async () => {
    const { client, asked } = await answering(hello)
    await client.chat.completions.create(extended({ model: 'prompt:team.ask', messages: [user], variables: { mood: 'kind' } }))
    assert.deepEqual(asked(), [{ model: 'from-prompt', temperature: 0.2, messages: [{ role: 'system', content: 'Be kind.' }, user] }])
  })

  it('runs it by the prompt object', async () => {
    const { client, asked } = await answering(hello)
    await client.chat.completions.create(extended({ prompt: { id: 'team:ask', variables: { mood: 'kind' } }, messages: [] }))
    assert.deepEqual(asked(), [{ model: 'from-prompt', temperature: 0.2, messages: [{ role: 'system', content: 'Be kind.' }] }])
  })

  it('runs it with the service\'s model when the prompt has none', async t => {
    const { client, asked } = await startOfficialClient(t, hello, registrations, { LLM_MODEL: 'the-default' })
    await client.chat.completions.create({ model: 'prompt:plain', messages: [] })
    assert.equal(asked()[0]?.model, 'the-default')
  })

  it('streams it', async () => {
    const { client } = await answering((_hit, response) => sendCompletionStream(response, ['Hel', 'lo']))
    assert.equal(await client.chat.completions.stream({ model: 'prompt:plain', messages: [] }).finalContent(), 'Hello')
  })

  it('is told when the revision has moved on, and does not try again', async t => {
    const { client, service, upstream } = await startOfficialClient(t, hello, registrations)
    const revision = (await service.get('/api/prompts/plain')).json['revision']
    const run = (wanted: unknown) => client.chat.completions.create(extended({ prompt: { id: 'plain', revision: wanted } }))
    await run(revision)
    await assert.rejects(run('older'), error => error instanceof ConflictError && error.code === 'PROMPT_REVISION' && error.headers.get('x-should-retry') === 'false')
    assert.equal(upstream.hits.length, 1)
  })

  const mistakes = [
    ['an unknown prompt', { model: 'prompt:team.aks', messages: [] }, NotFoundError, 'PROMPT_NOT_FOUND', 'team.ask'],
    ['a missing variable', { model: 'prompt:team.ask', messages: [] }, BadRequestError, 'VARIABLE_MISSING', 'variables.mood'],
    ['instructions from the caller', { model: 'prompt:plain', messages: [{ role: 'system', content: 'obey' }] }, BadRequestError, 'REQUEST_INVALID', 'body: messages.0.role'],
    ['two prompts', { model: 'prompt:plain', prompt: { id: 'team.ask' } }, BadRequestError, 'REQUEST_INVALID', 'plain'],
    ['a stream that is no boolean', { model: 'prompt:plain', stream: 'yes' }, BadRequestError, 'REQUEST_INVALID', 'stream'],
    ['a tool loop of the caller', { model: 'prompt:plain', toolLoop: true }, BadRequestError, 'REQUEST_INVALID', 'toolLoop']
  ] as const
  for (const [title, request, Type, code, text] of mistakes) {
    it(`raises an error for ${title}`, async () => {
      const { client } = await answering(hello)
      await assert.rejects(client.chat.completions.create(extended(request)), (error: APIError) => {
        assert.ok(error instanceof Type, String(error))
        assert.equal(error.code, code)
        assert.ok(error.message.includes(text), error.message)
        return true
      })
    })
  }
})

describe('errors below /v1', () => {
  const requests = [
    ['an unknown route', { method: 'GET', url: '/v1/nothing' }, 404],
    ['a path in escapes', { method: 'POST', url: '/%76%31/chat/completions', headers: { 'content-type': 'application/json' }, payload: '{' }, 400],
    ['a body that is not JSON', { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, payload: '{' }, 400],
    ['no body', { method: 'POST', url: '/v1/chat/completions' }, 400],
    ['another media type', { method: 'POST', url: '/v1/embeddings', headers: { 'content-type': 'text/plain' }, payload: 'x' }, 415],
    ['a body that is too large', { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, payload: `"${'x'.repeat(1024 * 1024)}"` }, 413],
    ['no configured model', { method: 'POST', url: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, payload: '{"messages":[]}' }, 503]
  ] as const
  for (const [title, request, status] of requests) {
    it(`have OpenAI's shape for ${title}`, async () => {
      const { app } = await started()
      const reply = await app.inject(request)
      const { error } = reply.json<{ error: Record<string, unknown> }>()
      assert.equal(reply.statusCode, status)
      assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code'])
    })
  }
})

describe('GET /v1/models', () => {
  it('lists the models and aliases of all providers', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('providers.yaml', 'providers:\n  - name: one\n    baseUrl: builtin:echo\n    models: [small, large]\n    aliases: { best: large }\n  - name: two\n    baseUrl: builtin:echo\n    models: [other]\n')
    const { origin } = await startOfficialClient(t, hello, {}, { LLM_BASE_URL: '', LLM_PROVIDERS_FILE: join(folder.path, 'providers.yaml') })
    const { data } = await new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'x' }).models.list()
    assert.deepEqual(data.map(({ id, owned_by: owner }) => [id, owner]).slice(0, 4), [['small', 'one'], ['large', 'one'], ['best', 'one'], ['other', 'two']])
  })

  it('tells of one of them', async t => {
    const { client } = await startOfficialClient(t, hello, {}, { LLM_MODEL: 'vendor/small' })
    const { id, owned_by: owner } = await client.models.retrieve('vendor/small')
    assert.deepEqual([id, owner], ['vendor/small', 'default'])
    await assert.rejects(client.models.retrieve('large'), { status: 404, code: 'MODEL_NOT_FOUND', message: /Model "large" not found; offered are "vendor\/small"/ })
  })

  it('lists prompts as models, which can be asked: those that run, and are no parts of others, for whom may see them', async t => {
    const service = await startService(t, {
      'templates:open:greet': 'Hello {{> part}}{{> told}}{{variables.name}}', 'templates:open:part': 'x', 'templates:open:told': { userPrompt: 'y', description: 'Of its own.' }, 'templates:open:broken': '{{', 'templates:hidden': 'z'
    }, { LLM_BASE_URL: 'builtin:echo', LLM_MODEL: 'm', API_TOKENS: tokenEntry('ann', 'chat:prompts=open.*') })
    const { json } = await service.get('/v1/models', bearer('ann'))
    assert.deepEqual((json['data'] as unknown as Array<{ id: string }>).map(({ id }) => id), ['m', 'prompt:open.greet', 'prompt:open.told'])
    assert.equal((await service.get('/v1/models/prompt:open.greet', bearer('ann'))).json['id'], 'prompt:open.greet')
    assert.equal((await service.get('/v1/models/prompt:hidden', bearer('ann'))).status, 404)
    assert.equal((await service.post('/v1/chat/completions', { model: 'prompt:open.greet', variables: { name: 'Ada' } }, bearer('ann'))).status, 200)
  })

  it('is empty without a model', async () => {
    const { get } = await started()
    assert.deepEqual((await get('/v1/models')).json, { object: 'list', data: [] })
  })
})
