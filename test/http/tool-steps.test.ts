import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type ToolStep } from '../../src/service/model-tool-calls.ts'
import { startService } from '../helpers/service.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'

/** Starts a service whose model asks, turn by turn, for calls of `look.up` with these arguments, and then answers. */
async function start (t: TestContext, turns: ReadonlyArray<readonly string[]>, toolStatus = 200) {
  const tools = await startUpstream((_hit, response) => sendJson(response, toolStatus, ['main.go:12']))
  const model = await startUpstream((_hit, response, count) => sendJson(response, 200, asking(turns[count - 1] ?? [])))
  const service = await startService(t, {
    'tools:look:up': { url: `${tools.baseUrl}/refs`, parameters: { symbol: { type: 'string' }, limit: { type: 'integer', default: 10 } }, retry: false },
    'templates:ask': { userPrompt: 'Who calls Render?', defaults: { toolLoop: { tools: ['look.up'] } } },
    'templates:plain': 'Hello'
  }, { LLM_BASE_URL: model.baseUrl })
  t.after(async () => { await Promise.all([tools.close(), model.close()]) })

  async function chat (id: string): Promise<ToolStep[]> {
    const { status, json } = await service.post(`/api/chat/prompts/${id}?explain=true`, {})
    assert.equal(status, 200)
    return json['explain']?.['toolSteps'] as unknown as ToolStep[]
  }
  return { chat, service }
}

function asking (calls: readonly string[]): object {
  if (calls.length === 0) return completion('main.go')
  const toolCalls = calls.map((text, index) => ({ id: `call_${index}`, type: 'function', function: { name: 'look_up', arguments: text } }))
  return completion('', { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: toolCalls }, finish_reason: 'tool_calls' }] })
}

describe('POST /api/chat/prompts/{id}?explain=true with a tool loop', () => {
  it('shows every call with its turn, arguments, outcome and duration', async t => {
    const { chat } = await start(t, [['{"symbol":"A"}'], ['{"symbol":"B","limit":2}']])
    const steps = await chat('ask')
    assert.deepEqual(steps.map(({ durationMs: _durationMs, ...step }) => step), [
      { turn: 1, tool: 'look.up', arguments: { symbol: 'A' }, outcome: 'ok' },
      { turn: 2, tool: 'look.up', arguments: { symbol: 'B', limit: 2 }, outcome: 'ok' }
    ])
    for (const { durationMs } of steps) assert.ok(durationMs > 0)
  })

  it('shows the calls of one turn together', async t => {
    const { chat } = await start(t, [['{"symbol":"A"}', '{"symbol":"B"}']])
    assert.deepEqual((await chat('ask')).map(({ turn }) => turn), [1, 1])
  })

  const unusable = [['text that is no JSON', '{"symbol":'], ['JSON that is no object', '[1]']] as const
  for (const [title, text] of unusable) {
    it(`shows ${title} as the model wrote it`, async t => {
      const { chat } = await start(t, [[text]])
      assert.deepEqual(await chat('ask'), [{ turn: 1, tool: 'look.up', arguments: text, outcome: 'failed', durationMs: 0, error: 'ARGUMENTS_INVALID' }])
    })
  }

  it('says why a call has failed', async t => {
    const { chat } = await start(t, [['{"symbol":"A"}']], 500)
    assert.deepEqual((await chat('ask')).map(({ outcome, error }) => [outcome, error]), [['failed', 'STATUS']])
  })

  it('leaves out arguments that are longer than 16 KiB', async t => {
    const { chat } = await start(t, [[JSON.stringify({ symbol: 'x'.repeat(16 * 1024) })]])
    const [step] = await chat('ask')
    assert.deepEqual([step?.outcome, step?.arguments], ['ok', undefined])
  })

  it('shows no calls where the model makes none', async t => {
    const { chat } = await start(t, [])
    assert.deepEqual(await chat('plain'), [])
  })

  it('leaves a render without tool steps', async t => {
    const { service } = await start(t, [])
    const { json } = await service.post('/api/render/prompts/plain?explain=true', {})
    assert.equal(Object.hasOwn(json['explain'] ?? {}, 'toolSteps'), false)
  })
})
