import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { LLMock } from '@copilotkit/aimock'
import OpenAI from 'openai'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

// Everything as a user has it: a real Redis that other programs write to, the built service as a process, and a model
// API that somebody else made.

const quick = { POLL_INTERVAL_MS: '100' }

describe('the service over Redis', () => {
  let redis: RedisServer
  const model = new LLMock({ port: 0 })

  before(async () => {
    redis = await startRedisServer()
    model.onMessage(/Evaluate the project code/, { content: 'Looks good.' })
    await model.start()
  })
  after(async () => {
    await redis.stop()
    await model.stop()
  })

  it('lists, renders and chats with the seed\'s extension as publishers write it', async t => {
    const { client } = redis
    await client.flushall()
    await client.set('shenma:extensions:evaluator', readFileSync('test/fixtures/evaluator.json'))
    await client.set('shenma:environs:vscode:rules', '"readability"')
    await client.set('shenma:environs:codebase:current_project', '{"name":"payments","files":214}')
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url, LLM_BASE_URL: `${model.url}/v1`, LLM_API_KEY: 'sk-test', LLM_MODEL: 'gpt-4o-mini' })

    assert.deepEqual(await get(url, '/api/extensions'), ['evaluator'])
    assert.deepEqual(await get(url, '/api/prompts'), ['evaluator.evaluate_quality'])
    assert.deepEqual(await get(url, '/api/environs'), ['codebase.current_project', 'vscode.rules'])

    const rendered = await post(url, '/api/render/prompts/evaluator.evaluate_quality')
    assert.deepEqual(rendered, {
      status: 'success',
      rendered_prompt: [
        { role: 'system', content: 'You are a code review assistant who can evaluate the quality of the project.' },
        { role: 'user', content: 'Evaluate the project code from the following dimensions and give a quality assessment report.\nEvaluation dimensions:\nreadability\nCode context:\nmap[files:214 name:payments]' }
      ]
    })

    const completion = await post(url, '/api/chat/prompts/evaluator.evaluate_quality', { temperature: 0.1 }) as OpenAI.ChatCompletion
    assert.equal(completion.object, 'chat.completion')
    assert.equal(completion.choices[0]?.message.content, 'Looks good.')
  })

  it('sends the model the request that the official client would send', async t => {
    await redis.client.flushall()
    await redis.client.set('shenma:templates:ask', 'Evaluate the project code of {{variables.name}}')
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url, LLM_BASE_URL: `${model.url}/v1`, LLM_API_KEY: 'sk-test', LLM_MODEL: 'gpt-4o-mini' })
    const official = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: 'sk-test' })

    const ours = await post(url, '/api/chat/prompts/ask', { variables: { name: 'x' }, temperature: 0.5 }) as OpenAI.ChatCompletion
    const theirs = await official.chat.completions.create({ model: 'gpt-4o-mini', temperature: 0.5, messages: [{ role: 'user', content: 'Evaluate the project code of x' }] })

    const [fromUs, fromThem] = await waitFor('the model to have noted both', () => {
      const asked = model.getRequests().map(requestOf).filter(request => JSON.stringify(request.body).includes('project code of x'))
      return asked.length === 2 && asked
    })
    assert.deepEqual(fromUs, fromThem)
    assert.deepEqual(Object.keys(ours).sort(), Object.keys(theirs).filter(key => key !== '_request_id').sort())
    assert.deepEqual(ours.choices, theirs.choices)
  })

  const forms = [
    ['an object with a message list', '{"messages":[{"role":"user","content":"Hi {{variables.name}}"}]}', [{ role: 'user', content: 'Hi Ada' }]],
    ['an object with userPrompt', '{"userPrompt":"Hi {{.variables.name}}"}', 'Hi Ada'],
    ['an object with prompt', '{"prompt":"Hi {{variables.name}}"}', 'Hi Ada'],
    ['a bare message list', '[{"role":"user","content":"Hi {{name}}"}]', [{ role: 'user', content: 'Hi Ada' }]],
    ['a JSON string', '"Hi {{.name}}"', 'Hi Ada'],
    ['a plain text', 'Hi {{name}}', 'Hi Ada'],
    ['a text that begins with a tag', '{{variables.name}} is here', 'Ada is here']
  ] as const
  it('takes a template in every form that publishers may write, while it runs', async t => {
    await redis.client.flushall()
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url })
    for (const [index, [, text]] of forms.entries()) await redis.client.set(`shenma:templates:form${index}`, text)
    await waitFor('all forms to be listed', async () => (await get(url, '/api/prompts') as string[]).length === forms.length)
    for (const [index, [form, , expected]] of forms.entries()) {
      const reply = await post(url, `/api/render/prompts/form${index}`, { variables: { name: 'Ada' } }) as { rendered_prompt: unknown }
      assert.deepEqual(reply.rendered_prompt, expected, form)
    }
  })

  it('keeps what is loaded through an outage, and follows Redis again after it', async t => {
    await redis.client.flushall()
    await redis.client.set('shenma:templates:ask', 'for {{vscode.rules}}')
    await redis.client.set('shenma:environs:vscode:rules', '"tests"')
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url })
    const render = async () => await post(url, '/api/render/prompts/ask') as { rendered_prompt: unknown }
    assert.equal((await render()).rendered_prompt, 'for tests')

    await redis.kill()
    await waitFor('readiness to say so', async () => (await get(url, '/readyz') as { status: string }).status === 'stale')
    assert.equal((await render()).rendered_prompt, 'for tests')

    // It comes back empty, as a Redis without persistence does: what was loaded is held.
    await redis.restart()
    await waitFor('readiness to recover', async () => (await get(url, '/readyz') as { status: string }).status === 'ready')
    assert.equal((await render()).rendered_prompt, 'for tests')

    await redis.client.set('shenma:templates:ask', 'new')
    await waitFor('the new text to be served', async () => (await render()).rendered_prompt === 'new')
  })

  it('rejects exactly the broken value, by key and reason', async t => {
    await redis.client.flushall()
    await redis.client.set('shenma:templates:good', 'fine')
    await redis.client.set('shenma:templates:bad', '{"messages":')
    await redis.client.lpush('shenma:templates:list', 'x')
    await redis.client.set('shenma:environs:bad', '{"a":')
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url })
    assert.deepEqual(await get(url, '/api/prompts'), ['good'])
    const problems = await waitFor('all problems to be known', async () => {
      const found = await get(url, '/api/status/entries') as Array<{ key: string, state: string, diagnostics: Array<{ message: string }> }>
      return found.length === 3 && found
    })
    assert.deepEqual(problems.map(({ key, state }) => [key, state]).sort(), [['shenma:environs:bad', 'rejected'], ['shenma:templates:bad', 'rejected'], ['shenma:templates:list', 'rejected']])
    assert.match(problems.find(({ key }) => key === 'shenma:templates:list')?.diagnostics[0]?.message ?? '', /list/)
  })

  it('starts without Redis and serves when it comes', async t => {
    await redis.client.flushall()
    await redis.kill()
    const { url } = await startProcess(t, { ...quick, REDIS_URL: redis.url })
    assert.equal((await fetch(`${url}/readyz`)).status, 503)
    await redis.restart()
    await redis.client.set('shenma:templates:ask', 'here')
    await waitFor('the prompt to be served', async () => (await get(url, '/api/prompts') as string[]).includes('ask'))
  })
})

async function get (url: string, path: string): Promise<unknown> {
  return await (await fetch(`${url}${path}`)).json()
}

async function post (url: string, path: string, body: unknown = {}): Promise<unknown> {
  const reply = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return await reply.json()
}

/** What a model API sees of a request. */
function requestOf (entry: { method: string, path: string, body: unknown, headers: Record<string, unknown> }) {
  const { method, path, body, headers } = entry
  return { method, path, body, authorization: headers['authorization'], type: headers['content-type'] }
}
