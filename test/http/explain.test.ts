import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Explanation } from '../../src/service/rendered-messages.ts'
import { type Origin } from '../../src/template/provenance.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { type JsonView, startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'

const SECRET = 'sesame-4711'

async function start (t: AtEnd) {
  process.env['TOOL_SECRET_FINDER'] = SECRET
  t.after(() => delete process.env['TOOL_SECRET_FINDER'])
  const headers = { authorization: 'Bearer ${secret:FINDER}' } // eslint-disable-line no-template-curly-in-string
  const { origin } = await startRestfulToolServer(t, { '/find': response => response.setHeader('content-type', 'application/json').end('{"path":"a.go"}') })
  return startService(t, {
    'environs:vscode:rules': '"readability, tests"',
    'tools:code:find': { method: 'GET', url: `${origin}/find`, headers, parameters: [{ name: 'symbol', type: 'string' }, { name: 'depth', type: 'integer', default: 1 }] },
    'tools:code:broken': { url: `${origin}/500`, default: 'unknown', breaker: false, retry: false },
    'templates:review': {
      messages: [
        { role: 'system', content: 'Be {{variables.tone}}. Rules: {{vscode.rules}}' },
        { role: 'user', content: '{{> where}} {{code_broken}} {{default "none" variables.note}}' }
      ],
      parameters: [{ name: 'tone', type: 'string', default: 'kind' }, { name: 'symbol', type: 'string' }, { name: 'note', type: 'string', required: false }]
    },
    'templates:where': { syntax: 'go', userPrompt: '{{.variables.symbol}} in {{(code_find .variables.symbol).path}}' },
    'templates:text': 'Hello {{variables.name}}'
  }, { LLM_BASE_URL: 'builtin:echo', TOOL_SECRETS: `FINDER=${new URL(origin).host}` })
}

function explanationOf (json: JsonView): Explanation {
  return json['explain'] as unknown as Explanation
}

function sourcesOf ({ messages }: Explanation, text: string): readonly Origin[] | undefined {
  return messages.flatMap(({ spans }) => spans).find(span => span.text === text)?.sources
}

const started = shared(start)

describe('POST /api/render/prompts/{id}?explain=true', () => {
  const request = { variables: { symbol: 'Run' } }

  it('adds the spans of every message, which joined are its content', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/render/prompts/review?explain=true', request)
    assert.equal(status, 200)
    const messages = json['rendered_prompt'] as unknown as Array<{ role: string, content: string }>
    assert.deepEqual(explanationOf(json).messages.map(({ role, spans }) => ({ role, content: spans.map(({ text }) => text).join('') })), messages)
    assert.equal(messages[1]?.content, 'Run in a.go unknown none')
  })

  it('tells the source of every span, the calls and the passes', async () => {
    const { post, get } = await started()
    const explanation = explanationOf((await post('/api/prompts/review/render?explain=true', request)).json)
    assert.deepEqual(sourcesOf(explanation, 'kind'), [{ kind: 'default', path: 'variables.tone' }])
    assert.deepEqual(sourcesOf(explanation, 'Run'), [{ kind: 'variable', path: 'variables.symbol' }])
    assert.deepEqual(sourcesOf(explanation, 'none'), [{ kind: 'default' }])
    const [rules] = sourcesOf(explanation, 'readability, tests') ?? []
    assert.ok(rules?.kind === 'environ' && rules.key === 'vscode.rules' && /^[\w-]{12}$/.test(rules.revision ?? ''))
    const calls = explanation.calls.map(({ durationMs: _durationMs, ...call }) => call).sort((one, other) => one.tool < other.tool ? -1 : 1)
    assert.deepEqual(calls, [
      { tool: 'code.broken', arguments: {}, outcome: 'failed', error: 'STATUS' },
      { tool: 'code.find', arguments: { symbol: 'Run', depth: 1 }, outcome: 'ok' }
    ])
    const found = sourcesOf(explanation, 'a.go')?.find(source => source.kind === 'tool')
    assert.equal(found?.kind === 'tool' && explanation.calls[found.call]?.tool, 'code.find')
    assert.ok(explanation.passes.length >= 2)
    assert.equal(explanation.revision, (await get('/api/prompts/review')).json['revision'])
  })

  it('shows no header and no secret', async () => {
    const { post } = await started()
    const text = JSON.stringify((await post('/api/render/prompts/review?explain=true', request)).json)
    assert.ok(text.includes('a.go'))
    for (const hidden of [SECRET, 'authorization', 'Bearer', 'http://']) assert.ok(!text.includes(hidden), hidden)
  })

  it('explains a render that calls no tools', async () => {
    const { post } = await started()
    const { json } = await post('/api/render/prompts/review?explain=true&tools=stub', request)
    assert.deepEqual(explanationOf(json).calls.map(({ outcome }) => outcome), ['stubbed', 'stubbed'])
  })

  it('explains the replay of a bundle', async () => {
    const { post } = await started()
    const { bundle } = (await post('/api/render/prompts/review?tools=record', request)).json
    const { status, json } = await post('/api/render/prompts/review?explain=true', { bundle })
    assert.equal(status, 200)
    assert.deepEqual(explanationOf(json).calls.map(({ outcome }) => outcome), ['recorded', 'recorded'])
  })

  for (const query of ['', '?explain=false']) {
    it(`explains nothing with "${query}"`, async () => {
      const { post } = await started()
      assert.deepEqual((await post(`/api/render/prompts/text${query}`, { variables: { name: 'Ada' } })).json, { rendered_prompt: 'Hello Ada', status: 'success' })
    })
  }

  it('tells of a cached result like of a call, without another pass', async t => {
    const { origin } = await startRestfulToolServer(t)
    const { post } = await startService(t, { 'tools:x:cached': { url: `${origin}/text`, cacheTtl: 60_000 }, 'templates:cached': '{{x_cached}}' })
    const explained = async () => explanationOf((await post('/api/render/prompts/cached?explain=true')).json)
    const [first, second] = [await explained(), await explained()]
    assert.deepEqual([first.passes.length, first.calls.map(({ outcome }) => outcome)], [2, ['ok']])
    assert.deepEqual([second.passes.length, second.calls.map(({ outcome }) => outcome)], [1, ['cached']])
    assert.deepEqual(second.messages, first.messages)
  })

  it('answers 400 for what is neither true nor false', async () => {
    const { post } = await started()
    const { status, json } = await post('/api/render/prompts/text?explain=maybe', { variables: { name: 'Ada' } })
    assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
  })
})

for (const url of ['/api/chat/prompts/text', '/api/prompts/text/chat']) {
  describe(`POST ${url}?explain=true`, () => {
    it('adds the explanation to the model\'s reply', async () => {
      const { post } = await started()
      const { status, json } = await post(`${url}?explain=true`, { variables: { name: 'Ada' }, messages: [{ role: 'user', content: 'And?' }] })
      assert.equal(status, 200)
      assert.equal(json['object'], 'chat.completion')
      assert.deepEqual(explanationOf(json).messages, [{
        role: 'user',
        spans: [
          { text: 'Hello ', line: 1, column: 1, sources: [{ kind: 'literal' }] },
          { text: 'Ada', line: 1, column: 7, sources: [{ kind: 'variable', path: 'variables.name' }] }
        ]
      }])
    })

    it('answers 400 with stream: true', async () => {
      const { post } = await started()
      const { status, json } = await post(`${url}?explain=true`, { variables: { name: 'Ada' }, stream: true })
      assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
    })

    it('adds nothing when nobody asks', async () => {
      const { post } = await started()
      assert.equal(explanationOf((await post(url, { variables: { name: 'Ada' } })).json), undefined)
    })
  })
}
