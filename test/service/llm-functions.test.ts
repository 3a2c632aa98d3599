import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../src/access/caller.ts'
import { loadConfig } from '../../src/config/config.ts'
import { CountedModels, createLlmFunctions, type LlmFunctions } from '../../src/service/chat/models.ts'
import { createModels } from '../../src/service/from-config.ts'
import { type Answer, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { Prices } from '../../src/observe/prices.ts'
import { UsageLedger } from '../../src/service/usage.ts'

interface Line { readonly level: string, readonly fields: object, readonly message: string }

async function functions (t: TestContext, answer: Answer): Promise<LlmFunctions & { readonly bodies: unknown[], readonly lines: Line[] }> {
  const bodies: unknown[] = []
  const lines: Line[] = []
  const upstream = await startUpstream((request, ...rest) => {
    bodies.push(JSON.parse(request.body))
    return answer(request, ...rest)
  })
  t.after(() => upstream.close())
  const logger = (level: string) => (fields: object, message: string): void => { lines.push({ level, fields, message }) }
  const log = { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error') }
  const client = await createModels(loadConfig({ STORE_DIR: 'unused', LLM_BASE_URL: upstream.baseUrl }), {}, log)
  t.after(() => client?.close())
  return { ...createLlmFunctions({ models: new CountedModels(client, new UsageLedger(new Prices())), log, caller: ANYONE, defaultModel: 'GigaChat-2-Max', defaultEmbeddingModel: 'Embeddings' }), bodies, lines }
}

const COMPLETION = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] }
const EMBEDDINGS = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }], model: 'Embeddings' }

describe('post_chat_completions', () => {
  it('gives the standard answer, for the default model and the parameters that came', async t => {
    const { post_chat_completions: post, bodies } = await functions(t, (_request, response) => { sendJson(response, 200, COMPLETION) })
    const payload = Object.freeze({ messages: [], temperature: 0.5 })
    assert.deepEqual(await post(payload), COMPLETION)
    assert.deepEqual(bodies, [{ messages: [], temperature: 0.5, model: 'GigaChat-2-Max' }])
  })

  it('logs payload and response at debug when it is verbose, and nothing else', async t => {
    const { post_chat_completions: post, lines } = await functions(t, (_request, response) => { sendJson(response, 200, COMPLETION) })
    await post({ messages: [] }, true)
    await post({ messages: [] })
    assert.deepEqual(lines.filter(({ message }) => message.startsWith('llm ')).map(({ level, message }) => [level, message]), [['debug', 'llm chat: payload'], ['debug', 'llm chat: response']])
  })

  it('gives the reason of a failure, and logs it with its stack', async t => {
    const { post_chat_completions: post, lines } = await functions(t, (_request, response) => { sendJson(response, 400, { error: { message: 'not so' } }) })
    assert.deepEqual(await post({ messages: [] }), { error: 'The model\'s API refused the request with status 400' })
    assert.ok(lines.some(({ level, message }) => level === 'error' && message === 'llm chat failed'))
  })

  it('asks nobody without messages', async t => {
    const { post_chat_completions: post, bodies } = await functions(t, (_request, response) => { sendJson(response, 200, COMPLETION) })
    assert.deepEqual([await post({}), bodies], [{ error: 'expected "messages" in the payload' }, []])
  })
})

describe('post_embeddings', () => {
  it('gives the standard answer, for the default model', async t => {
    const { post_embeddings: post, bodies } = await functions(t, (_request, response) => { sendJson(response, 200, EMBEDDINGS) })
    assert.deepEqual(await post({ input: 'x' }), EMBEDDINGS)
    assert.deepEqual(bodies, [{ input: 'x', model: 'Embeddings' }])
  })

  it('asks nobody without input', async t => {
    const { post_embeddings: post, bodies } = await functions(t, (_request, response) => { sendJson(response, 200, EMBEDDINGS) })
    assert.deepEqual([await post({ messages: [] }), bodies], [{ error: 'expected "input" in the payload' }, []])
  })
})
