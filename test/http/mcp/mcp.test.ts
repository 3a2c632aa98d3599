import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startRestfulToolServer } from '../../helpers/restful-tool-server.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const registrations = {
  'templates:team:greet': { description: 'Greets a person', userPrompt: 'Hello {{variables.name}}, {{variables.times}} times', parameters: { type: 'object', properties: { name: { type: 'string', description: 'Whom' }, times: { type: 'integer', default: 1 }, tone: { enum: ['kind', 'cold'] }, loud: { type: 'boolean' } }, required: ['name'] } },
  'templates:team:roles': [{ role: 'system', content: 'Rules: {{team.rules}}' }, { role: 'user', content: '{{variables.question}}' }],
  'templates:team:sum': { messages: [{ placeholder: 'history' }, { role: 'user', content: 'Sum it up.' }] },
  'templates:hidden': 'secret{{> part}}',
  'templates:part': '!',
  'templates:broken': { userPrompt: '{{if}}', syntax: 'go' },
  'environs:team:rules': '"be brief"'
}
const released = {
  'releases:hidden': { next: 2, labels: { production: 1 }, versions: [{ n: 1, tag: 't', at: '2026-01-01T00:00:00Z', by: 'ana' }], moves: [] },
  'versions:hidden:1': { entry: 'the first' }
}
const ERAS = ['legacy', 'auto'] as const

const TOKENS = [tokenEntry('all', 'admin'), tokenEntry('renderer', 'render:prompts=team.*'), tokenEntry('reader', 'read')].join(',')

/** An official client that is connected. */
async function connect (t: TestContext, origin: string, era: typeof ERAS[number], { name = 'all', listChanged }: { name?: string, listChanged?: NonNullable<ConstructorParameters<typeof Client>[1]>['listChanged'] } = {}): Promise<Client> {
  const url = new URL('/mcp', origin)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era }, ...(listChanged === undefined ? {} : { listChanged }) })
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { ...bearer(name) } } }))
  t.after(() => client.close())
  return client
}

const started = shared(suite => startService(suite, registrations))
const served = shared(async suite => {
  const { origin, requests } = await startRestfulToolServer(suite)
  const tool = { url: `${origin}/echo`, method: 'POST', description: 'Echoes', parameters: [{ name: 'text', type: 'string' }] }
  const service = await startService(suite, { ...registrations, ...released, 'tools:demo:echo': { ...tool, callable: true }, 'tools:demo:private': tool }, { API_TOKENS: TOKENS })
  return { ...service, requests, origin: await service.listen() }
})

for (const era of ERAS) {
  describe(`MCP server, ${era === 'legacy' ? 'the protocol of 2025' : 'the protocol of 2026'}`, () => {
    it('lists prompts that can run and are no parts of others, with their arguments', async t => {
      const client = await connect(t, (await served()).origin, era)
      const { prompts } = await client.listPrompts()
      assert.deepEqual(prompts.map(({ name }) => name), ['hidden', 'team.greet', 'team.roles', 'team.sum'])
      assert.deepEqual(prompts[1], { name: 'team.greet', description: 'Greets a person', arguments: [{ name: 'name', description: 'Whom', required: true }, { name: 'times', required: false }, { name: 'tone', required: false }, { name: 'loud', required: false }] })
      assert.deepEqual(prompts[2]?.arguments, [{ name: 'question', required: true }])
    })

    it('renders a prompt with arguments of the types that it declares', async t => {
      const client = await connect(t, (await served()).origin, era)
      const { messages } = await client.getPrompt({ name: 'team.greet', arguments: { name: 'Ada', times: '3', loud: 'true' } })
      assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Hello Ada, 3 times' } }])
    })

    it('sends a system message as a user\'s, and tells its role', async t => {
      const client = await connect(t, (await served()).origin, era)
      const { messages } = await client.getPrompt({ name: 'team.roles', arguments: { question: 'why?' } })
      assert.deepEqual(messages[0], { role: 'user', content: { type: 'text', text: 'Rules: be brief', _meta: { 'ai-prompt-shell/role': 'system' } } })
    })

    it('renders the version that a label means', async t => {
      const client = await connect(t, (await served()).origin, era)
      const { messages } = await client.getPrompt({ name: 'hidden@production' })
      assert.deepEqual(messages[0]?.content, { type: 'text', text: 'the first' })
      const { content } = await client.callTool({ name: 'render_prompt', arguments: { id: 'hidden', label: 'production' } })
      assert.deepEqual(content, [{ type: 'text', text: 'the first' }])
      await assert.rejects(client.getPrompt({ name: 'hidden@nosuch' }), { code: -32602, message: /nosuch/ })
    })

    it('refuses a render without a required argument, with all missing names', async t => {
      const client = await connect(t, (await served()).origin, era)
      await assert.rejects(client.getPrompt({ name: 'team.greet', arguments: { times: 'many' } }), { code: -32602, message: /variables\.name/ })
    })

    it('completes arguments from schemas, and ids in URIs', async t => {
      const client = await connect(t, (await served()).origin, era)
      const completed = async (ref: { type: 'ref/prompt', name: string } | { type: 'ref/resource', uri: string }, name: string, value: string) => (await client.complete({ ref, argument: { name, value } })).completion.values
      assert.deepEqual(await completed({ type: 'ref/prompt', name: 'team.greet' }, 'tone', 'k'), ['kind'])
      assert.deepEqual(await completed({ type: 'ref/prompt', name: 'team.greet' }, 'loud', ''), ['true', 'false'])
      assert.deepEqual(await completed({ type: 'ref/resource', uri: 'prompt-shell://environs/{id}' }, 'id', 'te'), ['team.rules'])
    })

    it('reads shared variables and prompts as resources', async t => {
      const client = await connect(t, (await served()).origin, era)
      assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2)
      const { contents } = await client.readResource({ uri: 'prompt-shell://environs/team.rules' })
      assert.deepEqual(contents, [{ uri: 'prompt-shell://environs/team.rules', mimeType: 'application/json', text: '"be brief"' }])
      await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }))
      await assert.rejects(client.readResource({ uri: 'prompt-shell://environs/nosuch' }), { code: -32602 })
    })

    it('renders and lists prompts by its own tools', async t => {
      const client = await connect(t, (await served()).origin, era)
      assert.deepEqual((await client.callTool({ name: 'render_prompt', arguments: { id: 'team.greet', variables: { name: 'Ada' } } })).content, [{ type: 'text', text: 'Hello Ada, 1 times' }])
      assert.deepEqual((await client.callTool({ name: 'list_prompts', arguments: { prefix: 'team.' } })).content, [{ type: 'text', text: 'team.greet\nteam.roles\nteam.sum' }])
      const failed = await client.callTool({ name: 'render_prompt', arguments: { id: 'nosuch' } })
      assert.equal(failed.isError, true)
    })

    it('renders a prompt with the conversation so far, and refuses what is none', async t => {
      const client = await connect(t, (await served()).origin, era)
      const messages = [{ role: 'user', content: 'Hi {{x}}' }, { role: 'assistant', content: 'Hello' }]
      const { content } = await client.callTool({ name: 'render_prompt', arguments: { id: 'team.sum', messages } })
      assert.deepEqual(JSON.parse((content as Array<{ readonly text: string }>)[0]?.text ?? ''), [...messages, { role: 'user', content: 'Sum it up.' }])
      for (const wrong of ['Hi', [{ content: 'Hi' }], [{ role: 'system', content: 'Hi' }], Array.from({ length: 1001 }, () => ({ role: 'user', content: 'Hi' }))]) {
        const refused = await client.callTool({ name: 'render_prompt', arguments: { id: 'team.sum', messages: wrong } })
        assert.deepEqual([refused.isError, JSON.stringify(refused.content).includes('arguments: messages')], [true, true])
      }
    })

    it('calls tools that are registered as callable, and no others', async t => {
      const { origin, requests } = await served()
      const client = await connect(t, origin, era)
      assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), ['render_prompt', 'list_prompts', 'demo_echo'])
      const { content } = await client.callTool({ name: 'demo_echo', arguments: { text: `hi from ${era}` } })
      assert.match(JSON.stringify(content), /hi from/)
      await assert.rejects(client.callTool({ name: 'demo_private', arguments: { text: `hi from ${era}` } }))
      assert.equal(requests.filter(({ body }) => body.includes(`hi from ${era}`)).length, 1)
    })

    it('shows a token only what it may see, and refuses what its roles do not allow', async t => {
      const client = await connect(t, (await served()).origin, era, { name: 'renderer' })
      assert.deepEqual((await client.listPrompts()).prompts.map(({ name }) => name), ['team.greet', 'team.roles', 'team.sum'])
      await assert.rejects(client.getPrompt({ name: 'hidden' }), { code: -32602 })
      assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), ['render_prompt', 'list_prompts'])
      await assert.rejects(client.readResource({ uri: 'prompt-shell://environs/team.rules' }), { code: -32602, message: /role/ })
    })
  })
}

describe('MCP server', () => {
  it('tells a client that its list of prompts has changed', async t => {
    const service = await startService(t, registrations, { API_TOKENS: TOKENS })
    let changes = 0
    const client = await connect(t, await service.listen(), 'auto', { listChanged: { prompts: { autoRefresh: false, onChanged: () => { changes++ } } } })
    assert.equal((await client.listPrompts()).prompts.length, 4)
    await service.store.set('shenma:templates:new', 'New')
    await waitFor('a change', () => changes > 0)
    assert.equal((await client.listPrompts()).prompts.length, 5)
  })

  it('tells a client nothing of prompts that are hidden from it', async t => {
    const service = await startService(t, registrations, { API_TOKENS: TOKENS })
    const told: string[] = []
    let changes = 0
    const origin = await service.listen()
    await connect(t, origin, 'auto', { name: 'renderer', listChanged: { prompts: { autoRefresh: false, onChanged: () => { told.push('renderer') } } } })
    await connect(t, origin, 'auto', { listChanged: { prompts: { autoRefresh: false, onChanged: () => { changes++ } } } })
    await service.store.set('shenma:templates:new', 'New')
    await waitFor('a change', () => changes > 0)
    assert.deepEqual(told, [])
  })

  it('asks for a token with the role render', async () => {
    const { post } = await served()
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    assert.equal((await post('/mcp', body)).status, 401)
    assert.equal((await post('/mcp', body, bearer('reader'))).status, 403)
  })

  it('opens no stream by GET, and is gone with MCP_SERVER=off', async t => {
    const on = await started()
    assert.equal((await on.get('/mcp', { accept: 'text/event-stream' })).status, 405)
    const off = await startService(t, registrations, { MCP_SERVER: 'off' })
    assert.equal((await off.post('/mcp', {})).status, 404)
  })

  const accepts: readonly [accept: string | undefined, type: string][] = [
    [undefined, 'application/json'], ['*/*', 'application/json'], ['application/json', 'application/json'], ['application/*;q=0.9', 'application/json'],
    ['text/event-stream', 'text/event-stream'], ['application/json, text/event-stream', 'text/event-stream']
  ]
  for (const [accept, type] of accepts) {
    it(`answers a client that accepts ${accept ?? 'whatever'}`, async () => {
      const { app } = await started()
      const { statusCode, headers, body } = await app.inject({ method: 'POST', url: '/mcp', payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers: accept === undefined ? {} : { accept } })
      assert.deepEqual([statusCode, headers['content-type']?.toString().split(';')[0]], [200, type])
      assert.match(body, /"name":"render_prompt"/)
    })
  }

  it('refuses a client that accepts neither JSON nor events', async () => {
    const { app } = await started()
    assert.equal((await app.inject({ method: 'POST', url: '/mcp', payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers: { accept: 'text/html' } })).statusCode, 406)
  })

  it('offers tools whose names become one under names of their own, which models accept', async t => {
    const { origin } = await startRestfulToolServer(t)
    const tool = (path: string) => ({ url: `${origin}${path}`, callable: true })
    const long = 'x'.repeat(70)
    const service = await startService(t, { 'tools:оплата': tool('/echo'), 'tools:возвра': tool('/500'), [`tools:${long}a`]: tool('/echo'), [`tools:${long}b`]: tool('/500') })
    const client = await connect(t, await service.listen(), 'auto')
    const names = (await client.listTools()).tools.map(({ name }) => name).slice(2)
    assert.equal(new Set(names).size, 4, names.join())
    assert.deepEqual(names.filter(name => !/^[A-Za-z0-9_-]{1,64}$/.test(name)), [])
    const failed = await Promise.all(names.map(async name => (await client.callTool({ name, arguments: {} })).isError === true))
    assert.deepEqual(failed.toSorted(), [false, false, true, true])
  })

  it('refuses a page of another origin', async () => {
    const { post } = await started()
    const { status, json } = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { origin: 'https://evil.example', accept: 'application/json, text/event-stream' })
    assert.equal(status, 403)
    assert.equal(json['code'], 'ORIGIN_FOREIGN')
  })
})
