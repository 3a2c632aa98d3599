import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createRegisteredTool, type RegisteredTool } from '../../src/tool/registered-tool.ts'
import { singleSource, type ToolResources, type ToolSource, type ToolType } from '../../src/tool/tool-type.ts'
import { type Connector } from '../../src/tool/preparation.ts'
import { type ToolDefinition } from '../../src/tool/definition.ts'
import { required } from '../../src/tool/tool-reader.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import { startService } from '../helpers/service.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'

interface EchoDefinition extends ToolDefinition {
  readonly words: string
}

/** Says its words and what it was given; with the words `all` it stands for a server of two tools. */
function echoType (closed: () => void): ToolType<EchoDefinition> {
  return {
    name: 'echo',
    parse (common, endpoint) {
      const words = required(endpoint, 'words', 'echo')
      return { ...common, type: 'echo', isRelative: words.startsWith('/'), words, standsFor: words === 'all' ? 'an echo server' : undefined }
    },
    connect: resources => ({
      open: definition => definition.standsFor === undefined ? singleSource(definition, connectorOf(definition), resources) : serverOf(definition, resources),
      async close () { closed() }
    })
  }
}

const connectorOf = ({ words }: EchoDefinition): Connector => ({
  call: async values => ({ value: { words, values }, secrets: [] }),
  attempted: Promise.resolve(),
  state: () => 'ready',
  close: async () => {}
})

function serverOf (definition: EchoDefinition, resources: ToolResources): ToolSource {
  const tools = ['one', 'two'].map((tool): RegisteredTool => {
    const offered = { ...definition, id: `${definition.id}.${tool}`, name: `${definition.name}_${tool}`, tool, words: tool, standsFor: undefined, revision: `${definition.revision} ${tool}` }
    return createRegisteredTool(offered, connectorOf(offered), resources)
  })
  return { definition, tools: () => tools, attempted: Promise.resolve(), state: () => 'ready', close: async () => {} }
}

const start = (t: TestContext, registrations: Readonly<Record<string, unknown>>, environment = {}, closed = () => {}) => startService(t, registrations, environment, { toolTypes: [...TOOL_TYPES, echoType(closed)] })

const HELLO = { echo: { words: 'Hello' }, parameters: [{ name: 'to', type: 'string' }] }
const REPLY = { words: 'Hello', values: { to: 'Ann' } }

describe('A fourth type of tools, made of one row', () => {
  it('is listed and read', async t => {
    const { get } = await start(t, { 'tools:team:hello': HELLO })
    assert.deepEqual((await get('/api/tools')).json, ['team.hello'])
    assert.equal((await get('/api/tools?detail=true')).json['0']?.['type'], 'echo')
    const { json } = await get('/api/tools/team.hello')
    assert.deepEqual([json['echo'], json['function'], json['preparation']], [{ words: 'Hello' }, 'team_hello', 'ready'])
  })

  it('is called by hand and by templates of both languages', async t => {
    const { post } = await start(t, { 'tools:team:hello': HELLO, 'templates:bars': '{{#with (team_hello "Ann")}}{{words}}{{/with}}', 'templates:go': '{{ (team_hello "Ann").words }}' }, { RENDER_TIMEOUT_MS: '10000' })
    const { json } = await post('/api/tools/team.hello/call', { arguments: { to: 'Ann' } })
    assert.deepEqual([json['outcome'], json['value']], ['ok', REPLY])
    for (const id of ['bars', 'go']) assert.equal((await post(`/api/render/prompts/${id}`, {})).json['rendered_prompt'], 'Hello')
  })

  it('may be named in place of its member, and takes the endpoint over the flat fields', async t => {
    const { post } = await start(t, { 'tools:named': { type: 'echo', url: 'http://a.example', echo: { words: 'Hi' } } })
    assert.equal((await post('/api/tools/named/call', {})).json['value']?.['words'], 'Hi')
  })

  it('is published, and refused where it refuses itself', async t => {
    const { app, get } = await start(t, {})
    const put = (value: object) => app.inject({ method: 'PUT', url: '/api/tools/new', payload: value })
    assert.equal((await put(HELLO)).statusCode, 201)
    assert.deepEqual((await get('/api/tools/new')).json['echo'], { words: 'Hello' })
    const refused = await put({ echo: { words: 7 } })
    assert.deepEqual([refused.statusCode, refused.json<{ message: string }>().message], [400, '"new" was not stored: a echo tool needs a "words"'])
    const unknown = await put({ type: 'sound', url: 'http://a.example' })
    assert.match(unknown.json<{ message: string }>().message, /tool\.type must be one of "restful","grpc","mcp","echo"/)
    assert.equal((await app.inject({ method: 'DELETE', url: '/api/tools/new' })).statusCode, 204)
    assert.deepEqual((await get('/api/tools')).json, [])
  })

  it('is seen, and published, by whom other tools are', async t => {
    const environment = { API_TOKENS: [tokenEntry('all', 'admin'), tokenEntry('part', 'read+write:prompts=team.*')].join(',') }
    const { app, get } = await start(t, { 'tools:hello': HELLO, 'tools:rest': { url: 'http://127.0.0.1:1/' } }, environment)
    for (const name of ['all', 'part']) assert.deepEqual((await get('/api/tools', bearer(name))).json, ['hello', 'rest'])
    const put = (name: string, value: object) => app.inject({ method: 'PUT', url: '/api/tools/team.new', payload: value, headers: bearer(name) })
    assert.equal((await put('part', HELLO)).statusCode, (await put('part', { url: 'http://127.0.0.1:1/' })).statusCode)
    assert.equal((await put('all', HELLO)).statusCode, 201)
  })

  it('is counted in readiness and metrics', async t => {
    const { app, get, post } = await start(t, { 'tools:hello': HELLO, 'tools:bad': { echo: {} } })
    await post('/api/tools/hello/call', { arguments: { to: 'Ann' } })
    assert.equal((await get('/readyz')).json['kinds']?.['tools']?.['entries'], 1)
    assert.equal((await get('/api/tools/hello')).json['statistics']?.['calls'], 1)
    const metrics = (await app.inject('/metrics')).body
    assert.match(metrics, /prompt_shell_registry_entries\{kind="tools"\} 1/)
    assert.match(metrics, /prompt_shell_tool_call_duration_seconds_count\{tool="hello",outcome="ok"\} 1/)
  })

  it('is reported: what cannot be used, and where an address is missing', async t => {
    const { get } = await start(t, { 'tools:bad': { echo: {} }, 'tools:far': { echo: { words: '/far' } } })
    const { json } = await get('/api/status/entries')
    assert.deepEqual([json['0']?.['key'], json['0']?.['state'], json['1']?.['cursor']], ['shenma:tools:bad', 'rejected', 'tools/far'])
    assert.equal((await get('/api/tools/far')).json['diagnostics']?.['0']?.['code'], 'TOOL_BASE_URL_MISSING')
  })

  it('can stand for a server, whose tools are called in its place', async t => {
    const { get, post } = await start(t, { 'tools:echo': { echo: { words: 'all' } }, 'tools:echo_one': HELLO })
    assert.deepEqual((await get('/api/tools')).json, ['echo', 'echo.two', 'echo_one'])
    assert.equal((await post('/api/tools/echo.two/call', {})).json['value']?.['words'], 'two')
    const { status, json } = await post('/api/tools/echo/call', {})
    assert.deepEqual([status, json['message']], [409, 'Tool "echo" cannot be called: it stands for an echo server, which offers echo.two'])
  })

  it('ends what its tools share when the service closes', async t => {
    let ended = 0
    const { app } = await start(t, { 'tools:hello': HELLO }, {}, () => { ended++ })
    await app.close()
    assert.equal(ended, 1)
  })
})
