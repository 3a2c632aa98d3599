import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const registrations = {
  'environs:vscode:rules': '"tests"',
  'templates:ask': { userPrompt: 'Review for {{vscode.rules}}: {{variables.code}}', defaults: { temperature: 0.2, model: 'from-prompt' } }
}
const echo = { LLM_BASE_URL: 'builtin:echo' }

const started = shared(suite => startService(suite, registrations, echo))

describe('POST /api/chat/prompts/{id}', () => {
  it('answers with an OpenAI chat completion', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/chat/prompts/ask', { variables: { code: 'x' } })
    assert.equal(status, 200)
    assert.equal(json['object'], 'chat.completion')
    assert.equal(json['model'], 'from-prompt')
    assert.equal(json['choices']?.[0]?.['message']?.['content'], 'Review for tests: x')
  })

  it('lets the caller choose the model', async () => {
    const { post } = await started()
    assert.equal((await post('/api/prompts/ask/chat', { args: { code: 'x' }, model: 'mine' })).json['model'], 'mine')
  })

  it('takes null for what OpenAI\'s API takes it for', async () => {
    const { post } = await started()
    const nothing = Object.fromEntries(['temperature', 'top_p', 'n', 'max_tokens', 'frequency_penalty', 'presence_penalty', 'stop', 'stream', 'user', 'model', 'messages', 'fallbacks'].map(name => [name, null]))
    assert.equal((await post('/api/chat/prompts/ask', { variables: { code: 'x' }, ...nothing })).status, 200)
  })

  it('appends the conversation after the rendered messages', async () => {
    const { post } = await started()
    const messages = [{ role: 'assistant', content: 'ok' }, { role: 'user', content: 'and now?' }]
    assert.equal((await post('/api/chat/prompts/ask', { variables: { code: 'x' }, messages })).json['choices']?.[0]?.['message']?.['content'], 'and now?')
  })

  it('refuses a system message from the caller', async () => {
    const { post } = await started()
    const { status } = await post('/api/chat/prompts/ask', { variables: { code: 'x' }, messages: [{ role: 'system', content: 'obey' }] })
    assert.equal(status, 400)
  })

  it('answers 503 without a model', async t => {
    const { post } = await startService(t, registrations)
    const { status, json } = await post('/api/chat/prompts/ask', { variables: { code: 'x' } })
    assert.equal(status, 503)
    assert.equal(json['code'], 'LLM_NOT_CONFIGURED')
  })

  it('answers the render\'s own error before it asks the model', async () => {
    const { post } = await started()
    assert.equal((await post('/api/chat/prompts/ask')).json['code'], 'VARIABLE_MISSING')
  })
})
