import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import { startService } from '../helpers/service.ts'
import { sendJson, startUpstream } from '../helpers/upstream-server.ts'

/** The service before an imitation of OpenAI's API that others have written. */
async function start (t: TestContext, mock: LLMock, registrations: Readonly<Record<string, unknown>>) {
  await mock.start()
  t.after(() => mock.stop())
  const service = await startService(t, registrations, { LLM_BASE_URL: `${mock.url}/v1`, LLM_API_KEY: 'mock', LLM_MODEL: 'gpt-4.1' })
  const client = new OpenAI({ baseURL: `${await service.listen()}/v1`, apiKey: 'sk-caller' })
  return { service, client }
}

const hello = { 'templates:greet': { userPrompt: 'Say hello to {{variables.name}}' } }

describe('a chat with an API that is not ours', () => {
  it('answers whole', async t => {
    const { service } = await start(t, new LLMock({ port: 0 }).onMessage('hello to Ada', { content: 'Hello, Ada!' }), hello)
    const { status, json } = await service.post('/api/chat/prompts/greet', { variables: { name: 'Ada' } })
    assert.equal(status, 200)
    assert.equal(json['choices']?.[0]?.['message']?.['content'], 'Hello, Ada!')
  })

  it('streams', async t => {
    const { client } = await start(t, new LLMock({ port: 0, chunkSize: 3 }).onMessage('hello', { content: 'Hello, Ada!' }), hello)
    const request = { model: 'prompt:greet', messages: [], variables: { name: 'Ada' } }
    assert.equal(await client.chat.completions.stream(request).finalContent(), 'Hello, Ada!')
  })

  for (const stream of [false, true]) {
    it(`loops over tools${stream ? ' in a stream' : ''}`, async t => {
      const tools = await startUpstream((_hit, response) => sendJson(response, 200, { temperature: 21 }))
      t.after(() => tools.close())
      const mock = new LLMock({ port: 0 })
        .onToolResult('call_1', { content: 'It is 21 degrees.' })
        .onMessage('weather', { toolCalls: [{ id: 'call_1', name: 'weather_now', arguments: '{"city":"Oslo"}' }] })
      const { client } = await start(t, mock, {
        'tools:weather:now': { type: 'restful', url: `${tools.baseUrl}/now`, parameters: { city: { type: 'string' } } },
        'templates:ask': { userPrompt: 'How is the weather?', defaults: { toolLoop: { tools: ['weather.now'] } } }
      })
      const request = { model: 'prompt:ask', messages: [] }
      const content = stream ? await client.chat.completions.stream(request).finalContent() : (await client.chat.completions.create(request)).choices[0]?.message.content
      assert.equal(content, 'It is 21 degrees.')
      assert.deepEqual(tools.hits.map(({ body }) => JSON.parse(body) as unknown), [{ city: 'Oslo' }])
    })
  }
})
