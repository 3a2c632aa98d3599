import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wantsEvents } from '../../src/http/routes/sessions.ts'
import { startRawServer } from '../helpers/raw-server.ts'
import { startService } from '../helpers/service.ts'

describe('A caller who sends this as Accept', () => {
  const cases: ReadonlyArray<readonly [accept: string | undefined, expected: boolean]> = [
    ['text/event-stream', true],
    ['Text/Event-Stream; q=0.9, application/json;q=0.5', true],
    ['text/event-stream, */*;q=0.1', true],
    ['application/json, text/event-stream', false],
    ['application/json', false],
    ['text/event-stream;q=0', false],
    ['text/event-stream;q=x', false],
    ['*/*', false],
    ['', false],
    [undefined, false]
  ]
  for (const [accept, expected] of cases) {
    it(`${accept ?? 'nothing'}: ${expected ? 'has events' : 'has JSON'}`, () => {
      assert.equal(wantsEvents(accept), expected)
    })
  }
})

describe('A caller who prefers not to wait', () => {
  // Whoever waits does so for 30 s, since the model does not answer.
  it('is answered before the model has answered', { timeout: 25_000 }, async t => {
    const model = await startRawServer(() => {})
    t.after(() => model.stop())
    const agent = { help: 'Ask.', system: 'You help.', tools: [] }
    const { post } = await startService(t, { 'agents:helper': agent, 'skills:walk': { description: 'Walks.', body: 'Walk.' } }, { LLM_BASE_URL: `http://127.0.0.1:${model.port}/v1` })
    const prefer = { prefer: 'handling=lenient, respond-async; wait=0' }
    const started = await post('/api/skills/start', { terminalSessionId: 'manual', skillId: 'walk' }, prefer)
    assert.deepEqual([started.status, started.json['data']?.['state'], started.json['data']?.['aiResponse']], [202, 'idle', null])
    const { json: { id } } = await post('/api/agents/helper/sessions', {}, prefer)
    const said = await post(`/api/sessions/${String(id)}/input`, { text: 'Who?' }, prefer)
    assert.deepEqual([said.status, said.json['status']], [202, 'running'])
  })
})
