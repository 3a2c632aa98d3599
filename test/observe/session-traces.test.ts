import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type CollectedSpan, startOtlpCollector } from '../helpers/otlp-collector.ts'
import { startEverythingServer, startMcpToolServer } from '../helpers/mcp-tool-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import type { JsonView } from '../helpers/service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

const SECRET = 'sk-abcdefghijklmnop'

const TOP = {
  system: 'You are top.',
  stream: false,
  handoffs: ['billing'],
  tools: [
    { name: 'look', tool: 'a.tool', description: 'Looks', parameters: { name: { type: 'string', description: 'Whom' }, password: { type: 'string', description: 'With what' } } },
    { name: 'research', agent: 'web', description: 'Looks something up' }
  ]
}

interface Said { readonly role: string, readonly content: string | null, readonly tool_calls?: unknown }

function call (name: string, given: object): object {
  const message = { role: 'assistant', content: null, tool_calls: [{ id: `call_${name}`, type: 'function', function: { name, arguments: JSON.stringify(given) } }] }
  return completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
}

/** The agent looks when told to, and asks another for research. */
function answerTo (messages: readonly Said[]): object {
  const { role, content } = messages.at(-1) as Said
  const isWeb = messages.some(message => String(message.content).includes('You are web.'))
  if (messages.some(message => String(message.content).includes('You are billing.'))) return completion('Paid.')
  if (content === 'bill') return call('transfer_to_billing', {})
  if (isWeb) return completion('It is ann.')
  if (role === 'tool') return completion(`Done, with ${SECRET}.`)
  if (content === 'look') return call('look', { name: 'Ada', password: 'tiger' })
  return call('research', { task: 'who owns it' })
}

async function placeOf (t: TestContext, further: Record<string, string> = {}) {
  const held: ServerResponse[] = []
  let isHeld = false
  const [collector, tools, folder] = await Promise.all([startOtlpCollector(t), startRestfulToolServer(t), createTemporaryFolder()])
  const upstream = await startUpstream(({ body }, response) => {
    const { messages } = JSON.parse(body) as { messages: readonly Said[] }
    if (isHeld && (messages.at(-1)?.role === 'tool' || messages[0]?.content?.includes('You are web.') === true)) held.push(response)
    else sendJson(response, 200, answerTo(messages))
  })
  t.after(async () => {
    await upstream.close()
    await folder.remove()
  })
  await folder.write('store/agents/top.json', JSON.stringify(TOP))
  await folder.write('store/agents/web.json', JSON.stringify({ system: 'You are web.', stream: false, tools: [] }))
  await folder.write('store/agents/billing.json', JSON.stringify({ system: 'You are billing.', stream: false, tools: [] }))
  await folder.write('store/skills/walk/SKILL.md', '---\nname: walk\ndescription: Walks.\n---\nWalk.')
  await folder.write('store/plans/mend.json', JSON.stringify({}))
  await folder.write('shop/a.txt', 'one')
  await folder.write('operator.yaml', `workspaces:\n  shop: { path: ${folder.path}/shop }\n`)
  await folder.write('store/tools/a/tool.json', JSON.stringify({ url: `${tools.origin}/text`, parameters: [{ name: 'name', type: 'string' }, { name: 'password', type: 'string' }] }))
  await folder.write('store/templates/hello.json', JSON.stringify('Hello'))
  const environment = {
    STORE_DIR: `${folder.path}/store`,
    STATE_DIR: `${folder.path}/state`,
    OPERATOR_FILE: `${folder.path}/operator.yaml`,
    LLM_BASE_URL: upstream.baseUrl,
    LLM_MODEL: 'gpt-x',
    ALLOW_ROOT: 'true',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...further
  }
  return {
    folder,
    held,
    hold (on: boolean) { isHeld = on },
    start: async () => await startProcess(t, environment),
    turns: async (count: number): Promise<readonly CollectedSpan[]> => {
      const isTurn = ({ name }: CollectedSpan): boolean => name === 'invoke_agent top'
      await waitFor('the spans of the turns', () => collector.spans.filter(isTurn).length >= count, 30_000)
      return collector.spans
    },
    collected: (): readonly CollectedSpan[] => collector.spans,
    spans: async (name: string): Promise<CollectedSpan> => await waitFor(name, () => collector.spans.find(span => span.name === name))
  }
}

async function post (url: string, path: string, body: object): Promise<JsonView> {
  return await (await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() as JsonView
}

async function statusOf (url: string, id: string): Promise<string> {
  return String((await (await fetch(`${url}/api/sessions/${id}`)).json() as JsonView)['status'])
}

function one (spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.filter(span => span.name === name)
  assert.equal(found.length, 1, `one ${name} among ${spans.map(span => span.name).join(', ')}`)
  return found[0] as CollectedSpan
}

describe('the trace of a turn', () => {
  it('has the agent around its effects, with conversation, name and version', async t => {
    const place = await placeOf(t)
    const { url } = await place.start()
    const id = String((await post(url, '/api/agents/top/sessions', {}))['id'])
    await post(url, `/api/agents/sessions/${id}/message`, { text: 'look' })
    const spans = (await place.turns(1)).filter(({ name }) => !/^(?:GET|POST)/.test(name))
    const turn = one(spans, 'invoke_agent top')
    const { 'gen_ai.agent.version': version, ...attributes } = turn.attributes
    assert.match(String(version), /^[\w-]{8,}$/)
    assert.deepEqual(attributes, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': id,
      'gen_ai.agent.name': 'top',
      'prompt_shell.session.definition': 'agents/top',
      'prompt_shell.session.revision': version,
      'prompt_shell.session.status': 'waiting_input'
    })
    assert.ok(spans.every(({ traceId }) => traceId === turn.traceId))
    assert.deepEqual([turn.parentSpanId, turn.kind], [undefined, 1])
    const effects = spans.filter(({ name }) => name.startsWith('session '))
    assert.deepEqual(effects.map(({ name, parentSpanId }) => [name, parentSpanId]), ['llm', 'tool', 'llm'].map(kind => [`session ${kind}`, turn.spanId]))
    const tool = one(spans, 'execute_tool a_tool')
    assert.deepEqual([tool.parentSpanId, tool.attributes['gen_ai.tool.call.id']], [one(spans, 'session tool').spanId, 'call_look'])
    for (const { attributes } of spans.filter(({ name }) => name === 'chat gpt-x')) {
      assert.deepEqual([attributes['gen_ai.conversation.id'], attributes['gen_ai.agent.name'], attributes['gen_ai.input.messages']], [id, 'top', undefined])
    }
  })

  it('goes on in the sessions that it starts', async t => {
    const place = await placeOf(t)
    const { url } = await place.start()
    const id = String((await post(url, '/api/agents/top/sessions', {}))['id'])
    await post(url, `/api/agents/sessions/${id}/message`, { text: 'research' })
    const spans = await place.turns(1)
    const [turn, child] = [one(spans, 'invoke_agent top'), one(spans, 'invoke_agent web')]
    assert.deepEqual([child.traceId, child.parentSpanId], [turn.traceId, one(spans, 'session child').spanId])
    assert.notEqual(child.attributes['gen_ai.conversation.id'], id)
  })

  it('is in the calls of models by the agent that has the dialogue', async t => {
    const place = await placeOf(t)
    const { url } = await place.start()
    const id = String((await post(url, '/api/agents/top/sessions', {}))['id'])
    await post(url, `/api/agents/sessions/${id}/message`, { text: 'bill' })
    const spans = await place.turns(1)
    assert.deepEqual(spans.filter(({ name }) => name === 'chat gpt-x').map(({ attributes }) => attributes['gen_ai.agent.name']), ['top', 'billing'])
  })

  for (const [kind, name, start] of [
    ['skills', 'walk', (url: string) => post(url, '/api/skills/start', { terminalSessionId: 'manual', skillId: 'walk', params: {} })],
    ['plans', 'mend', (url: string) => post(url, '/api/plans', { goal: 'mend it', workspace: 'shop', profile: 'mend' })]
  ] as const) {
    it(`has ${kind} as workflows, with their name`, async t => {
      const place = await placeOf(t)
      const { url } = await place.start()
      await start(url)
      const turn = await place.spans(`invoke_workflow ${name}`)
      const { 'gen_ai.conversation.id': session, 'prompt_shell.session.revision': revision, 'prompt_shell.session.status': _status, 'error.type': _error, ...attributes } = turn.attributes
      assert.match(`${String(session)} ${String(revision)}`, /^[\da-f]{32} [\w-]{8,}$/)
      assert.deepEqual(attributes, {
        'gen_ai.operation.name': 'invoke_workflow',
        'gen_ai.workflow.name': name,
        'prompt_shell.session.definition': `${kind}/${name}`,
        'openinference.span.kind': 'CHAIN'
      })
      const chat = await place.spans('chat gpt-x')
      assert.deepEqual([chat.traceId, chat.attributes['gen_ai.workflow.name'], chat.attributes['gen_ai.agent.name']], [turn.traceId, name, undefined])
      assert.equal(chat.attributes['gen_ai.conversation.id'], session)
    })
  }

  it('is one over the processes that work on a session that it starts', async t => {
    const place = await placeOf(t)
    const before = await place.start()
    const id = String((await post(before.url, '/api/agents/top/sessions', {}))['id'])
    place.hold(true)
    void post(before.url, `/api/agents/sessions/${id}/message`, { text: 'research' }).catch(() => {})
    await waitFor('the question of the other session', () => place.held.length > 0)
    before.process.kill('SIGKILL')
    await once(before.process, 'exit')
    place.hold(false)
    await place.start()
    const spans = await place.turns(1)
    const [turn, child] = [one(spans, 'invoke_agent top'), one(spans, 'invoke_agent web')]
    assert.deepEqual([child.traceId, child.parentSpanId], [turn.traceId, one(spans, 'session child').spanId])
    assert.equal(one(spans, 'session child').parentSpanId, turn.spanId)
  })

  it('is one over the processes that work on it, and another for the next turn', async t => {
    const place = await placeOf(t)
    const before = await place.start()
    const id = String((await post(before.url, '/api/agents/top/sessions', {}))['id'])
    place.hold(true)
    void post(before.url, `/api/agents/sessions/${id}/message`, { text: 'look' }).catch(() => {})
    await waitFor('the second question', () => place.held.length > 0)
    await place.spans('execute_tool a_tool')
    before.process.kill('SIGKILL')
    await once(before.process, 'exit')
    place.hold(false)
    const { url } = await place.start()
    await place.turns(1)
    await waitFor('the answer', async () => await statusOf(url, id) === 'waiting_input', 30_000)
    await post(url, `/api/agents/sessions/${id}/message`, { text: 'look' })
    const spans = (await place.turns(2)).filter(({ name }) => !/^(?:GET|POST)/.test(name))
    const [first, second] = spans.filter(({ name }) => name === 'invoke_agent top')
    assert.notEqual(first?.traceId, second?.traceId)
    const kinds = (turn: CollectedSpan | undefined): string[] => spans.filter(span => span.parentSpanId === turn?.spanId && span.traceId === turn?.traceId).map(({ name }) => name)
    assert.deepEqual(kinds(first), ['session llm', 'session tool', 'session llm'])
    assert.deepEqual(kinds(second), ['session llm', 'session tool', 'session llm'])
  })
})

describe('what was said', () => {
  it('is in the spans where the operator wants it, by the conventions\' schemas and without secrets', async t => {
    const place = await placeOf(t, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' })
    const { url } = await place.start()
    const id = String((await post(url, '/api/agents/top/sessions', {}))['id'])
    await post(url, `/api/agents/sessions/${id}/message`, { text: 'look' })
    const spans = await place.turns(1)
    const [asking, answering] = spans.filter(({ name }) => name === 'chat gpt-x').map(({ attributes }) => attributes)
    const json = (value: unknown): unknown => JSON.parse(String(value))
    assert.deepEqual(json(asking?.['gen_ai.system_instructions']), [{ type: 'text', content: 'You are top.' }])
    assert.deepEqual(json(asking?.['gen_ai.input.messages']), [{ role: 'user', parts: [{ type: 'text', content: 'look' }] }])
    const called = { type: 'tool_call', id: 'call_look', name: 'look', arguments: { name: 'Ada', password: '[secret]' } }
    assert.deepEqual(json(asking?.['gen_ai.output.messages']), [{ role: 'assistant', parts: [called], finish_reason: 'tool_call' }])
    assert.deepEqual((json(answering?.['gen_ai.input.messages']) as unknown[]).slice(1, 2), [{ role: 'assistant', parts: [called] }])
    assert.deepEqual(json(answering?.['gen_ai.output.messages']), [{ role: 'assistant', parts: [{ type: 'text', content: 'Done, with __REDACTED_API_KEY__.' }], finish_reason: 'stop' }])
    const { attributes: tool } = one(spans, 'execute_tool a_tool')
    assert.deepEqual(json(tool['gen_ai.tool.call.arguments']), { name: 'Ada', password: '[secret]' })
    assert.ok(String(tool['gen_ai.tool.call.result']).length > 0)
    assert.doesNotMatch(JSON.stringify(spans), /tiger|sk-abc/)
  })
})

describe('MCP messages', () => {
  it('have a span on the server\'s side, under the one that the client names, and around what they do', async t => {
    const place = await placeOf(t)
    const { url } = await place.start()
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)))
    t.after(() => client.close())
    await client.callTool({ name: 'render_prompt', arguments: { id: 'hello' }, _meta: { traceparent: `00-${traceId}-${spanId}-01` } })
    const span = await place.spans('tools/call render_prompt')
    const { 'jsonrpc.request.id': request, 'mcp.protocol.version': version, ...attributes } = span.attributes
    assert.match(`${String(request)} ${String(version)}`, /^\d+ \d{4}-\d\d-\d\d$/)
    assert.deepEqual(attributes, {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'render_prompt',
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'network.protocol.version': '1.1'
    })
    assert.deepEqual([span.traceId, span.parentSpanId, span.kind], [traceId, spanId, 2])
    const [render, listed] = [await place.spans('render'), await place.spans('initialize')]
    assert.deepEqual([render.traceId, render.parentSpanId], [traceId, span.spanId])
    assert.equal(listed.parentSpanId?.length, 16)
    await assert.rejects(client.getPrompt({ name: 'nobody' }))
    const failed = await place.spans('prompts/get nobody')
    assert.deepEqual([failed.attributes['gen_ai.prompt.name'], failed.attributes['error.type'], failed.attributes['rpc.response.status_code'], failed.status.code], ['nobody', undefined, '-32602', 0])
    await client.callTool({ name: 'render_prompt', arguments: { id: 'nobody' } })
    await waitFor('the failure', () => place.collected().some(({ attributes }) => attributes['error.type'] === 'tool_error'))
  })

  it('are told of on the client\'s side by the span of the tool\'s call, whose context they carry', async t => {
    const place = await placeOf(t)
    const [changing, everything] = [await startMcpToolServer(t), await startEverythingServer(t)]
    await place.folder.write('store/tools/modern/tool.json', JSON.stringify({ mcp: { url: changing.url } }))
    await place.folder.write('store/tools/older/tool.json', JSON.stringify({ mcp: { url: everything } }))
    const { url } = await place.start()
    const call = async (id: string, given: object): Promise<JsonView> => await waitFor(id, async () => {
      const reply = await post(url, `/api/tools/${id}/call`, given)
      return String(reply['outcome']) === 'ok' ? reply : undefined
    })
    const answer = await call('modern.tool.trace', {})
    await call('older.tool.echo', { arguments: { message: 'hi' } })
    const [modern, older] = [await place.spans('execute_tool modern_tool_trace'), await place.spans('execute_tool older_tool_echo')]
    assert.match(JSON.stringify(answer), new RegExp(`00-${modern.traceId}-${modern.spanId}-01`))
    const { 'mcp.method.name': method, 'network.transport': transport, 'server.address': address, 'server.port': port } = modern.attributes
    assert.deepEqual([method, transport, address, port], ['tools/call', 'tcp', '127.0.0.1', changing.port])
    assert.match(String(older.attributes['mcp.session.id']), /^[\da-f-]{36}$/)
    assert.match(String(older.attributes['mcp.protocol.version']), /^\d{4}-\d\d-\d\d$/)
  })
})
