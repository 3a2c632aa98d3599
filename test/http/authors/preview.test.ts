import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Registrations } from '../../helpers/registered.ts'
import { startRestfulToolServer } from '../../helpers/restful-tool-server.ts'
import { type JsonView, type Reply, startService } from '../../helpers/service.ts'
import { type AtEnd, shared } from '../../helpers/shared.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const registrations: Registrations = {
  'templates:greet': 'Hello {{variables.name}}!',
  'templates:card': '({{variables.name}})',
  'templates:secret:part': 'kept',
  'environs:team:tone': '"kind"'
}

async function startPreviews (t: AtEnd) {
  const server = await startRestfulToolServer(t, { '/find': response => response.setHeader('content-type', 'application/json').end('"found"') })
  const tools = { 'tools:x:find': { url: `${server.origin}/find`, method: 'GET', parameters: [{ name: 'symbol', type: 'string' }], default: 'nothing' } }
  const service = await startService(t, { ...registrations, ...tools }, { LOG_LEVEL: 'info' })
  const preview = (body: object, id = 'greet') => service.post(`/api/prompts/${id}/preview`, body)
  return { server, ...service, preview }
}

const list = (value: unknown) => value as readonly JsonView[]
const codes = ({ json }: Reply) => list(json['diagnostics']).map(({ code, line, column }) => `${String(code)} ${String(line)}:${String(column)}`)

function assertPlaces ({ text, sources, partial, output, source }: JsonView, template: string, rendered: string): void {
  const cut = (from: string, stretch: JsonView | undefined) => from.slice(Number(stretch?.['from']), Number(stretch?.['to']))
  assert.equal(cut(rendered, output), text)
  assert.equal(source === undefined, partial !== undefined)
  if (source === undefined) return
  const written = cut(template, source)
  const isTag = String(list(sources)[0]?.['kind']) !== 'literal' || written.startsWith('{{')
  assert.ok(isTag ? /^\{\{.*\}\}$/s.test(written) : written.includes(String(text)), `${String(text)} from ${written}`)
}

const started = shared(startPreviews)

describe('a preview', () => {
  it('renders a prompt that is stored nowhere, and stores nothing', async () => {
    const { preview, get, store } = await started()
    const reply = await preview({ prompt: { userPrompt: 'Bye {{variables.name}}, {{team.tone}}' }, variables: { name: 'Ada' } }, 'new.one')
    assert.equal(reply.status, 200)
    assert.equal(reply.json['rendered_prompt'], 'Bye Ada, kind')
    assert.deepEqual(reply.json['diagnostics'], [])
    assert.deepEqual(list(reply.json['needs']?.['variables']).map(need => need['path']), ['variables.name'])
    assert.equal((await get('/api/prompts/new.one')).status, 404)
    assert.deepEqual((await store.read(['shenma:templates:new:one'])).map(({ kind }) => kind), ['missing'])
  })

  it('renders in place of the registered prompt of its id, which stays what it is', async () => {
    const { preview, post } = await started()
    assert.equal((await preview({ prompt: 'Bye {{> card}}', variables: { name: 'Ada' } })).json['rendered_prompt'], 'Bye (Ada)')
    assert.equal((await post('/api/render/prompts/greet', { variables: { name: 'Ada' } })).json['rendered_prompt'], 'Hello Ada!')
  })

  it('answers 200 with mistakes in the text, and with what it needs where that can be read', async () => {
    const { preview } = await started()
    const syntax = await preview({ prompt: { messages: [{ role: 'system', content: 'x' }, { role: 'user', content: 'a\n{{#if}}' }] } })
    assert.deepEqual([syntax.status, codes(syntax), 'needs' in syntax.json], [200, ['SYNTAX 2:1'], false])
    assert.equal(list(syntax.json['diagnostics'])[0]?.['messageIndex'], 1)
    const partial = await preview({ prompt: 'a {{> nope}} {{variables.b}}' })
    assert.deepEqual([partial.status, codes(partial), 'needs' in partial.json, 'rendered_prompt' in partial.json], [200, ['PARTIAL_UNKNOWN 1:3'], true, false])
  })

  it('puts the caller\'s messages where the prompt has their place, else behind, and records them', async () => {
    const { preview } = await started()
    const messages = [{ role: 'user', content: 'Hi {{name}}' }, { role: 'assistant', content: 'Hello' }]
    const placed = await preview({ prompt: { messages: [{ role: 'system', content: 'Be {{team.tone}}.' }, { placeholder: 'history' }, { role: 'user', content: 'Now.' }] }, messages, tools: 'live' })
    assert.deepEqual(placed.json['rendered_prompt'], [{ role: 'system', content: 'Be kind.' }, ...messages, { role: 'user', content: 'Now.' }])
    assert.deepEqual(placed.json['bundle']?.['history'], messages)
    assert.deepEqual((await preview({ prompt: 'Be kind.', messages })).json['rendered_prompt'], [{ role: 'user', content: 'Be kind.' }, ...messages])
  })

  it('refuses a message of a role that no caller has', async () => {
    const { preview } = await started()
    const { status, json } = await preview({ prompt: 'x', messages: [{ role: 'system', content: 'x' }] })
    assert.deepEqual([status, json['code']], [400, 'REQUEST_INVALID'])
  })

  it('says which part of a prompt is wrong that is no text', async () => {
    const { preview } = await started()
    const reply = await preview({ prompt: { userPrompt: 'x', parameters: 7 } })
    assert.deepEqual(list(reply.json['diagnostics']).map(({ code, field }) => [code, field]), [['SCHEMA', '/parameters']])
  })

  it('says which variables are missing, and what may be meant', async () => {
    const { preview } = await started()
    const reply = await preview({ prompt: 'a {{variables.name}}', variables: { nmae: 'Ada' } })
    const [mistake] = list(reply.json['diagnostics'])
    assert.equal(reply.status, 200)
    assert.deepEqual([mistake?.['code'], mistake?.['path'], mistake?.['near'], mistake?.['column']], ['VARIABLE_MISSING', 'variables.name', 'variables.nmae', 3])
  })

  it('says what is wrong with variables, and where a render failed', async () => {
    const { preview } = await started()
    const invalid = await preview({ prompt: { userPrompt: '{{variables.n}}', parameters: [{ name: 'n', type: 'integer' }] }, variables: { n: 'x' } })
    assert.deepEqual(list(invalid.json['diagnostics']).map(({ code, path }) => [code, path]), [['VARIABLES_INVALID', 'variables.n']])
    const failed = await preview({ prompt: { syntax: 'go', userPrompt: 'a\n{{index .variables.list 7}}' }, variables: { list: [] } })
    assert.deepEqual([failed.status, codes(failed)], [200, ['RENDER_FAILED 2:3']])
  })

  for (const [syntax, text] of [['go', '{{x_find .variables.symbol}}'], ['handlebars', '{{x_find symbol=variables.symbol}}']] as const) {
    it(`calls no tool in ${syntax} unless it is told to, and answers equal calls from what is known`, async t => {
      const { preview, server } = await startPreviews(t)
      const prompt = { syntax, userPrompt: text }
      const stubbed = await preview({ prompt, variables: { symbol: 'a' } })
      assert.deepEqual([stubbed.json['rendered_prompt'], list(stubbed.json['explain']?.['calls'])[0]?.['outcome'], 'bundle' in stubbed.json], ['nothing', 'stubbed', false])
      assert.equal(server.requests.length, 0)

      const live = await preview({ prompt, variables: { symbol: 'a' }, tools: 'live' })
      assert.deepEqual([live.json['rendered_prompt'], server.requests.length], ['found', 1])

      const changed = { syntax, userPrompt: `now ${text}` }
      const known = await preview({ prompt: changed, variables: { symbol: 'a' }, known: live.json['bundle'] })
      assert.deepEqual([known.json['rendered_prompt'], list(known.json['explain']?.['calls'])[0]?.['outcome']], ['now found', 'recorded'])
      const other = await preview({ prompt: changed, variables: { symbol: 'b' }, known: live.json['bundle'] })
      assert.deepEqual([other.json['rendered_prompt'], server.requests.length], ['now nothing', 1])
    })
  }

  it('says of each span where it stands, and which tag of which message wrote it', async () => {
    const { preview } = await started()
    for (const [syntax, first, second] of [['go', 'A {{.variables.a}}\n{{ print "}}" }}.', '{{if .variables.a}}é {{ .variables.b -}}  !{{end}}'], ['handlebars', 'A {{{variables.a}}}\n{{~ team.tone }}.', '{{#if variables.a}}é {{variables.b}}{{/if}} {{> card}}']] as const) {
      const contents = [first, second]
      const reply = await preview({ prompt: { syntax, messages: [{ role: 'system', content: first }, { role: 'user', content: second }] }, variables: { a: 'x', b: 'long', name: 'Ada' } })
      const rendered = list(reply.json['rendered_prompt'])
      const spans = list(reply.json['explain']?.['messages']).flatMap((message, index) => list(message['spans']).map(span => ({ span, index })))
      assert.ok(spans.length > 7)
      for (const { span, index } of spans) assertPlaces(span, contents[index] as string, String(rendered[index]?.['content']))
    }
  })

  it('is for whoever may publish the prompt', async t => {
    const api = await startService(t, registrations, { API_TOKENS: [tokenEntry('author', 'write:prompts=team.*'), tokenEntry('reader', 'read+render')].join(',') })
    const at = async (name: string, id: string, prompt: unknown) => await api.post(`/api/prompts/${id}/preview`, { prompt, variables: { name: 'x' } }, bearer(name))
    assert.equal((await at('reader', 'team.a', 'x')).json['code'], 'ROLE_MISSING')
    assert.deepEqual([(await at('author', 'greet', 'x')).status, (await at('author', 'greet', 'x')).json['code']], [403, 'ENTRY_FORBIDDEN'])
    assert.equal((await at('author', 'team.a', 'x')).json['rendered_prompt'], 'x')
    const hidden = await at('author', 'team.a', '{{> secret.part}}')
    assert.deepEqual([codes(hidden), 'rendered_prompt' in hidden.json], [['PARTIAL_UNKNOWN 1:1'], false])
  })

  it('leaves a line in the log, without its text and its variables', async t => {
    const { preview, log } = await startPreviews(t)
    await preview({ prompt: 'private text {{variables.name}}', variables: { name: 'private value' } })
    const lines = log.filter(line => String(line['msg']) === 'audit')
    assert.deepEqual(lines.map(({ action, id, tools }) => [action, id, tools]), [['preview', 'greet', 'known']])
    assert.doesNotMatch(JSON.stringify(log), /private/)
  })
})
