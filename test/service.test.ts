import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { ANYONE } from '../src/access/caller.ts'
import { loadConfig } from '../src/config/config.ts'
import { openService, type Service } from '../src/service.ts'
import { storeWith } from './helpers/registered.ts'
import { promptKind } from '../src/registry/kinds/prompt-kind.ts'

const GREETING = { 'templates:greet': { userPrompt: 'Hello {{variables.name}}' } }

describe('the service without HTTP', () => {
  it('renders a prompt', async t => {
    const { registry: { generation }, renderPrompt, choosePrompt } = await open(t)
    const chosen = await choosePrompt(generation, ANYONE, 'greet', {})
    const { messages } = await renderPrompt({ generation, caller: ANYONE, id: 'greet', chosen, variables: { name: 'Ann' }, requestId: 'r' })
    assert.deepEqual(messages.map(({ content }) => content), ['Hello Ann'])
  })

  it('asks a model', async t => {
    const { registry: { generation }, chatWithPrompt, choosePrompt } = await open(t)
    const chosen = await choosePrompt(generation, ANYONE, 'greet', {})
    const { value } = await chatWithPrompt.complete({ generation, caller: ANYONE, id: 'greet', chosen, variables: { name: 'Ann' }, requestId: 'r', history: [], fields: {}, signal: AbortSignal.timeout(5000) })
    assert.match(JSON.stringify(value), /Hello Ann/)
  })

  it('publishes, and serves what it has published', async t => {
    const { registry, publisher } = await open(t)
    await publisher.publish({ generation: registry.generation, caller: ANYONE, kind: promptKind, id: 'other', text: 'Hi', precondition: {}, requestId: 'r' })
    assert.ok(registry.generation.prompts.has('other'))
  })
})

async function open (t: TestContext): Promise<Service> {
  const service = await openService(loadConfig({ STORE_DIR: 'unused', LLM_BASE_URL: 'builtin:echo' }), pino({ level: 'silent' }), { store: storeWith(GREETING) })
  t.after(() => service.close())
  return service
}
