import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type ToolStep } from '../../src/service/chat/model-tool-calls.ts'
import { startService } from '../helpers/service.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

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

describe('a stream with a tool loop', () => {
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'look_up', arguments: '{}' } }
  const event = (delta: object, finish: string | null = null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const asks = event({ content: 'Let me look.' }) + event({ tool_calls: [call] })

  /** Streams what a chat of a structured prompt answers, whose model sends these turns; one without `[DONE]` is cut. */
  async function stream (t: TestContext, turns: readonly string[]): Promise<string> {
    const tools = await startUpstream((_hit, response) => sendJson(response, 200, 1))
    const model = await startUpstream((_hit, response, count) => {
      const turn = turns[count - 1] ?? ''
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(turn, () => { if (turn.endsWith('data: [DONE]\n\n')) response.end(); else response.destroy() })
    })
    t.after(async () => { await Promise.all([tools.close(), model.close()]) })
    const { app } = await startService(t, {
      'tools:look:up': { url: `${tools.baseUrl}/refs` },
      'templates:ask': { userPrompt: 'Hi', structured: true, returns: { type: 'object', required: ['score'] }, defaults: { toolLoop: { tools: ['look.up'] } } }
    }, { LLM_BASE_URL: model.baseUrl })
    return (await app.inject({ method: 'POST', url: '/api/chat/prompts/ask', payload: { stream: true } })).body
  }
  const asking = `${asks}${event({}, 'tool_calls')}data: [DONE]\n\n`
  const answering = (content: string) => `${event({ content })}${event({}, 'stop')}data: [DONE]\n\n`

  it('is checked by its last turn, not by what the model wrote before it', async t => {
    assert.match(await stream(t, [asking, answering('{"score":1}')]), /Let me look.*score.*\[DONE\]\n\n$/s)
  })

  it('ends with an error event when its last turn is not what the prompt returns', async t => {
    const body = await stream(t, [asking, answering('{}')])
    assert.match(body, /ANSWER_INVALID/)
    assert.doesNotMatch(body, /\[DONE\]/)
  })

  it('does not show the service\'s own calls when it is cut', async t => {
    const body = await stream(t, [asks])
    assert.match(body, /Let me look.*"error"/s)
    assert.doesNotMatch(body, /look_up/)
  })
})

describe('a call that ends the chat', () => {
  it('ends those beside it', async t => {
    const open = new Set<ServerResponse>()
    // Neither is answered before both are there, and then one of them is.
    const tools = await startUpstream((hit, response) => {
      open.add(response)
      response.on('close', () => open.delete(response))
      failing = hit.path.endsWith('/fail') ? response : failing
      if (open.size === 2) sendJson(failing as ServerResponse, 400, {})
    })
    let failing: ServerResponse | undefined
    const both = ['crm_hang', 'crm_fail'].map(name => ({ id: name, type: 'function', function: { name, arguments: '{}' } }))
    const model = await startUpstream((_hit, response) => sendJson(response, 200, completion('', { choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: both }, finish_reason: 'tool_calls' }] })))
    t.after(async () => { await Promise.all([tools.close(), model.close()]) })
    const { post } = await startService(t, {
      'templates:ask': { userPrompt: 'Hi', defaults: { toolLoop: { tools: ['crm_hang', 'crm_fail'] } } },
      'tools:crm:hang': { url: `${tools.baseUrl}/hang`, method: 'GET' },
      'tools:crm:fail': { url: `${tools.baseUrl}/fail`, method: 'GET', onError: 'abort' }
    }, { LLM_BASE_URL: model.baseUrl })
    assert.equal((await post('/api/chat/prompts/ask')).json['code'], 'TOOL_FAILED')
    await waitFor('no call at the tools', () => open.size === 0)
  })
})

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
