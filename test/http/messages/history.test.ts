import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonView, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'

/** What was said, with everything that would mean something in a template. */
const SAID = [
  { role: 'user', content: '{{variables.secret}} {{> other}} {{#each}}' },
  { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: '' }] }
]

const PLACED = { messages: [{ role: 'system', content: 'Be {{variables.tone}}.' }, { placeholder: 'history' }, { role: 'user', content: 'Now answer.' }] }

const variables = { tone: 'kind', secret: 'sesame' }

async function start (t: AtEnd) {
  return await startService(t, {
    'templates:placed': PLACED,
    'templates:bare': [{ role: 'system', content: 'Be {{variables.tone}}.' }],
    'templates:text': 'Be {{variables.tone}}.',
    'templates:go': { syntax: 'go', messages: [{ placeholder: 'history' }, { role: 'user', content: 'Be {{.variables.tone}}.' }] }
  }, { LLM_BASE_URL: 'builtin:echo' })
}

const system = { role: 'system', content: 'Be kind.' }
const now = { role: 'user', content: 'Now answer.' }

const started = shared(start)

describe('the messages of a caller', () => {
  it('go where the prompt has their place, and are never rendered', async () => {
    const { post } = await started()
    assert.deepEqual((await post('/api/render/prompts/placed', { variables, messages: SAID })).json['rendered_prompt'], [system, ...SAID, now])
    assert.deepEqual((await post('/api/render/prompts/go', { variables, messages: SAID })).json['rendered_prompt'], [...SAID, { role: 'user', content: 'Be kind.' }])
  })

  it('are appended to a prompt without their place', async () => {
    const { post } = await started()
    assert.deepEqual((await post('/api/render/prompts/bare', { variables, messages: SAID })).json['rendered_prompt'], [system, ...SAID])
  })

  it('make messages of a prompt of one text', async () => {
    const { post } = await started()
    assert.equal((await post('/api/render/prompts/text', { variables, messages: [] })).json['rendered_prompt'], 'Be kind.')
    assert.deepEqual((await post('/api/render/prompts/text', { variables, messages: SAID })).json['rendered_prompt'], [{ role: 'user', content: 'Be kind.' }, ...SAID])
  })

  it('leave nothing in their place when there are none', async () => {
    const { post } = await started()
    for (const body of [{ variables }, { variables, messages: null }, { variables, messages: [] }]) {
      assert.deepEqual((await post('/api/render/prompts/placed', body)).json['rendered_prompt'], [system, now])
    }
  })

  it('speak as users, assistants and tools only', async () => {
    const { post } = await started()
    for (const role of ['system', 'developer', 'function', '', '__proto__']) {
      assert.equal((await post('/api/render/prompts/placed', { variables, messages: [{ role, content: 'x' }] })).status, 400, role)
    }
  })

  it('stand in their place before the model, too', async () => {
    const { post } = await started()
    // The echo answers the last message of a user.
    const said = [{ role: 'user', content: 'said before' }]
    for (const [url, body] of [
      ['/api/chat/prompts/placed', { variables, messages: said }],
      ['/v1/chat/completions', { model: 'prompt:placed', variables, messages: said }]
    ] as const) {
      const { json } = await post(url, body)
      assert.equal((json['choices'] as unknown as JsonView[])[0]?.['message']?.['content'], 'Now answer.', url)
    }
    const { json } = await post('/v1/responses', { model: 'prompt:placed', variables, input: 'said before' })
    assert.equal(((json['output'] as unknown as JsonView[])[0]?.['content'] as unknown as JsonView[])[0]?.['text'], 'Now answer.')
  })
})

describe('a bundle', () => {
  it('holds the history, and renders the same with it', async () => {
    const { post } = await started()
    const recorded = await post('/api/render/prompts/placed?tools=record', { variables, messages: SAID })
    const bundle = recorded.json['bundle'] as JsonView
    assert.deepEqual([bundle['version'], bundle['history']], [2, SAID])
    const again = await post('/api/render/prompts/placed', { bundle })
    assert.deepEqual(again.json['rendered_prompt'], recorded.json['rendered_prompt'])
  })

  it('takes another history in place of its own', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/placed?tools=record', { variables, messages: SAID })
    const other = [{ role: 'user', content: 'other' }]
    assert.deepEqual((await post('/api/render/prompts/placed', { bundle: json['bundle'], messages: other })).json['rendered_prompt'], [system, ...other, now])
  })

  it('is refused when its history was changed', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/placed?tools=record', { variables, messages: SAID })
    const bundle = { ...json['bundle'], history: [{ role: 'user', content: 'forged' }] }
    assert.equal((await post('/api/render/prompts/placed', { bundle })).json['code'], 'BUNDLE_INVALID')
  })
})
