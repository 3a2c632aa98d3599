import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { NOTHING } from '../../src/template/value.ts'
import { type RegisteredTool } from '../../src/tool/registered-tool.ts'
import { parseSecrets } from '../../src/tool/definition.ts'
import { parseStdioCommands } from '../../src/tool/operator.ts'
import { everythingServer, floodingServer, mortalServer, startEverythingServer, startMcpToolServer } from '../helpers/mcp-tool-server.ts'
import { type AnswerCall, startRawMcpServer } from '../helpers/raw-mcp-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom, type ToolRoom, until } from './tool-room.ts'

const COMMANDS = parseStdioCommands(`everything="${process.execPath}" "${everythingServer}" stdio; dying="${process.execPath}" -e "process.exit(1)"`)

/** The ways to reach the MCP project's own test server. */
const WAYS: readonly [name: string, reach: (test: TestContext) => Promise<JsonObject>][] = [
  ['streamable HTTP', async test => ({ url: await startEverythingServer(test) })],
  ['stdio', async () => ({ command: 'everything' })]
]

function isAlive (pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Registers and waits for discovery. */
async function discover (room: ToolRoom, registration: object, id = 'mcp.everything'): Promise<ReadonlyMap<string, RegisteredTool>> {
  const definition = room.define(registration, id)
  room.caller.register([definition])
  await room.caller.prepared(10_000)
  return new Map(room.caller.register([definition]).map(tool => [tool.name, tool]))
}

for (const [name, reach] of WAYS) {
  describe(`an MCP server over ${name}`, () => {
    it('brings all its tools under one registration', async test => {
      const room = createToolRoom(test, { commands: COMMANDS })
      const tools = await discover(room, { mcp: await reach(test) })
      for (const tool of ['echo', 'get_sum', 'get_structured_content']) assert.ok(tools.has(`mcp_everything_${tool}`), tool)
      const sum = tools.get('mcp_everything_get_sum') as RegisteredTool
      assert.equal(sum.id, 'mcp.everything.get-sum')
      assert.deepEqual(sum.mapArguments([1, 2], {}), { a: 1, b: 2 })
    })

    it('brings one tool under a key that names it', async test => {
      const room = createToolRoom(test, { commands: COMMANDS })
      const tools = await discover(room, { mcp: { ...await reach(test), tool: 'get-sum' } }, 'mcp.everything.sum')
      assert.deepEqual([...tools.keys()], ['mcp_everything_sum'])
      assert.equal((await room.call(tools.get('mcp_everything_sum') as RegisteredTool, { a: 1, b: 2 })).value, 'The sum of 1 and 2 is 3.')
    })

    it('answers with text, structure, content blocks and errors', async test => {
      const room = createToolRoom(test, { commands: COMMANDS })
      const tools = await discover(room, { mcp: await reach(test) })
      const call = (tool: string, values: JsonObject) => room.call(tools.get(`mcp_everything_${tool}`) as RegisteredTool, values)
      assert.equal((await call('echo', { message: 'hi' })).value, 'Echo: hi')
      assert.deepEqual((await call('get_structured_content', { location: 'New York' })).value, { temperature: 33, conditions: 'Cloudy', humidity: 82 })
      assert.deepEqual(((await call('get_tiny_image', {})).value as { type: string }[]).map(({ type }) => type), ['text', 'image', 'text'])
      assert.equal((await call('echo', {})).error?.message, 'arguments.message is required')
      assert.equal((await call('get_resource_reference', { resourceType: 'Text', resourceId: -1 })).error?.code, 'TOOL_ERROR')
    })

    it('is told when a call is given up', async test => {
      const room = createToolRoom(test, { commands: COMMANDS })
      const tools = await discover(room, { mcp: await reach(test), timeout: 50 })
      const { error } = await room.call(tools.get('mcp_everything_trigger_long_running_operation') as RegisteredTool, { duration: 10, steps: 5 })
      assert.equal(error?.code, 'TIMEOUT')
    })
  })
}

describe('an MCP server', () => {
  it('is started again when its process dies', async test => {
    const room = createToolRoom(test, { commands: parseStdioCommands(`mortal="${process.execPath}" --import tsx "${mortalServer}"`) })
    const tools = await discover(room, { mcp: { command: 'mortal' }, breaker: false }, 'mcp.mortal')
    const pid = await room.call(tools.get('mcp_mortal_pid') as RegisteredTool)
    assert.equal((await room.call(tools.get('mcp_mortal_die') as RegisteredTool)).error?.code, 'UNREACHABLE')
    await until(async () => (await room.call(tools.get('mcp_mortal_pid') as RegisteredTool)).outcome === 'ok')
    assert.notEqual((await room.call(tools.get('mcp_mortal_pid') as RegisteredTool)).value, pid.value)
  })

  it('is started once for all registrations of it', async test => {
    const room = createToolRoom(test, { commands: parseStdioCommands(`mortal="${process.execPath}" --import tsx "${mortalServer}"`) })
    const definitions = [room.define({ mcp: { command: 'mortal' } }, 'mcp.mortal'), room.define({ mcp: { command: 'mortal' } }, 'mcp.mortal.pid')]
    room.caller.register(definitions)
    await room.caller.prepared(10_000)
    const tools = room.caller.register(definitions)
    assert.deepEqual(tools.map(({ name, id }) => [name, id]), [['mcp_mortal_die', 'mcp.mortal.die'], ['mcp_mortal_pid', 'mcp.mortal.pid']])
  })

  it('that ends at once brings no tools, and says why', async test => {
    const room = createToolRoom(test, { commands: COMMANDS })
    const tools = await discover(room, { mcp: { command: 'dying' } })
    assert.equal(tools.size, 0)
    assert.deepEqual([...room.caller.states()], [['mcp.everything', 'failed']])
    assert.match((room.warnings[0] as { reason: string }).reason, /^could not be reached: /)
  })

  it('that is not there leaves a tool that is registered by name callable, to fail', async test => {
    const room = createToolRoom(test, { commands: COMMANDS })
    const tools = await discover(room, { mcp: { command: 'dying', tool: 'echo' }, default: 'none' }, 'mcp.dying.echo')
    const echo = tools.get('mcp_dying_echo') as RegisteredTool
    const { value, error } = await room.call(echo)
    assert.deepEqual([echo.state(), value, error?.code], ['failed', 'none', 'UNREACHABLE'])
  })

  it('gets the secrets of its registration, which come back in no result and no error', async test => {
    const server = await startMcpToolServer(test)
    const room = createToolRoom(test, { secrets: parseSecrets('TOKEN=127.0.0.1', { TOOL_SECRET_TOKEN: 's3cr3t-value' }) })
    const headers = { authorization: 'Bearer ${secret:TOKEN}' } // eslint-disable-line no-template-curly-in-string
    const tools = await discover(room, { mcp: { url: server.url }, headers }, 'mcp.changing')
    assert.equal((await room.call(tools.get('mcp_changing_whoami') as RegisteredTool)).value, 'Bearer [secret]')
    assert.equal((await room.call(tools.get('mcp_changing_fail') as RegisteredTool)).error?.message, 'answered with an error: no luck for Bearer [secret]')
    assert.ok(server.authorizations.every(authorization => authorization === 'Bearer s3cr3t-value'))
  })

  it('gets the secrets of its registration, which come back in nothing that it offers', async test => {
    const server = await startRawMcpServer(test, () => {}, undefined, authorization => [
      { name: `a ${authorization}`, description: `for ${authorization}`, inputSchema: { type: 'object', properties: { a: { enum: [authorization], description: authorization }, [String(authorization)]: {} } } },
      { name: 'b', inputSchema: { type: 'object', $schema: authorization } }
    ])
    const room = createToolRoom(test, { secrets: parseSecrets('TOKEN=127.0.0.1', { TOOL_SECRET_TOKEN: 's3cr3t-value' }) })
    const headers = { authorization: 'Bearer ${secret:TOKEN}' } // eslint-disable-line no-template-curly-in-string
    const tools = await discover(room, { mcp: { url: server.url }, headers }, 'mcp.raw')
    const [tool] = tools.values()
    const { error } = await room.call(tool as RegisteredTool, { a: 'x' })
    const { parameters, description, name, id } = (tool as RegisteredTool).definition
    assert.deepEqual([name, id, description, parameters?.names], ['mcp_raw_a_Bearer__secret_', 'mcp.raw.a Bearer [secret]', 'for Bearer [secret]', ['a', 'Bearer [secret]']])
    assert.equal(error?.message, 'arguments.a must be one of "Bearer [secret]"')
    assert.match(JSON.stringify(room.warnings), /\$schema.*Bearer \[secret\].* is not supported/)
    assert.doesNotMatch(JSON.stringify([...tools.values(), room.warnings]), /s3cr3t/)
  })

  it('brings tools that it offers later, and keeps those that stay', async test => {
    const server = await startMcpToolServer(test)
    let changes = 0
    const room = createToolRoom(test, {}, { changed: () => changes++ })
    const before = await discover(room, { mcp: { url: server.url } }, 'mcp.changing')
    const seen = changes
    server.offer('later-tool', {})
    await until(() => changes > seen)
    const after = await discover(room, { mcp: { url: server.url } }, 'mcp.changing')
    assert.deepEqual([...after.keys()], ['mcp_changing_fail', 'mcp_changing_large', 'mcp_changing_later_tool', 'mcp_changing_trace', 'mcp_changing_whoami'])
    assert.equal(after.get('mcp_changing_whoami'), before.get('mcp_changing_whoami'))
  })

  it('is found again when it was away', async test => {
    const server = await startMcpToolServer(test)
    const room = createToolRoom(test)
    const tools = await discover(room, { mcp: { url: server.url }, breaker: false }, 'mcp.changing')
    const whoami = tools.get('mcp_changing_whoami') as RegisteredTool
    await server.stop()
    const { value, error } = await room.call(whoami)
    assert.deepEqual([value, error?.code], [NOTHING, 'UNREACHABLE'])
    await startMcpToolServer(test, { port: server.port })
    await until(async () => (await room.call(whoami)).outcome === 'ok')
  })

  const places: readonly [path: string, code: string, message: string][] = [
    ['/404', 'STATUS', 'answered with status 404'],
    ['/503', 'STATUS', 'answered with status 503'],
    ['/html', 'REPLY_INVALID', 'sent a reply that is no result of a tool'],
    ['/bad-json', 'REPLY_INVALID', 'sent a reply that is no result of a tool'],
    ['/reset', 'UNREACHABLE', 'could not be reached: UND_ERR_SOCKET']
  ]
  for (const [path, code, message] of places) {
    it(`is told by what answers in its place: ${path}`, async test => {
      const { origin } = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      const tools = await discover(room, { mcp: { url: origin + path, tool: 'echo' } }, 'mcp.absent.echo')
      const { error } = await room.call(tools.get('mcp_absent_echo') as RegisteredTool)
      assert.deepEqual([error?.code, error?.message], [code, message])
    })
  }

  it('cannot send a reply over the size limit', async test => {
    const server = await startMcpToolServer(test)
    const room = createToolRoom(test)
    const tools = await discover(room, { mcp: { url: server.url } }, 'mcp.changing')
    assert.equal((await room.call(tools.get('mcp_changing_large') as RegisteredTool)).error?.code, 'REPLY_TOO_LARGE')
  })

  it('does not shadow a tool that is registered by itself', async test => {
    const server = await startMcpToolServer(test)
    const room = createToolRoom(test)
    const definitions = [room.define({ mcp: { url: server.url } }, 'mcp.changing'), room.define({ url: 'http://127.0.0.1:1/' }, 'mcp.changing.whoami')]
    room.caller.register(definitions)
    await room.caller.prepared(10_000)
    const whoami = room.caller.register(definitions).filter(({ name }) => name === 'mcp_changing_whoami')
    assert.deepEqual(whoami.map(({ definition }) => definition.type), ['restful'])
  })
})

describe('the session with an MCP server', () => {
  const answer = (status: number, type: string, result: unknown): AnswerCall => (response, id) => {
    response.writeHead(status, { 'content-type': type }).end(typeof result === 'string' ? result : JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const good = answer(200, 'application/json', { content: [{ type: 'text', text: 'hi' }] })
  const events = (...list: readonly string[]): AnswerCall => answer(200, 'text/event-stream', list.join(''))
  const large = (response: ServerResponse, id: unknown, fields = ''): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${fields}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(1_200_000) }] } })}\n\n`)
  }
  const foreign = { jsonrpc: '2.0', id: 999, result: { content: [] } }
  const reset: AnswerCall = response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begins\n\n', () => response.destroy())
  }
  const failures: readonly [title: string, values: JsonObject, answerCall: AnswerCall, code: string][] = [
    ['an argument that the protocol has no number for', { id: 12345678901234567890n }, good, 'ARGUMENTS_INVALID'],
    ['a result of another shape', {}, answer(200, 'application/json', { content: 'hi' }), 'REPLY_INVALID'],
    ['broken JSON', {}, answer(200, 'application/json', '{"jsonrpc":'), 'REPLY_INVALID'],
    ['an error that is none', {}, (response, id) => answer(200, 'application/json', JSON.stringify({ id, error: 'no' }))(response, id), 'TOOL_ERROR'],
    ['JSON that is no message', {}, answer(200, 'application/json', '{}'), 'REPLY_INVALID'],
    ['HTML', {}, answer(200, 'text/html', '<html>'), 'REPLY_INVALID'],
    ['status 500', {}, answer(500, 'text/plain', 'no'), 'STATUS'],
    ['an answer to another request', {}, answer(200, 'application/json', JSON.stringify(foreign)), 'REPLY_INVALID'],
    ['no reply to a request', {}, answer(202, 'text/plain', ''), 'REPLY_INVALID'],
    ['a stream without an event', {}, events(': begins\n\n'), 'REPLY_INVALID'],
    ['a broken event', {}, events('data: {"jsonrpc":\n\n'), 'REPLY_INVALID'],
    ['a stream with an answer to another request', {}, events(`data: ${JSON.stringify(foreign)}\n\n`), 'REPLY_INVALID'],
    ['a stream that is too large', {}, large, 'REPLY_TOO_LARGE'],
    ['a stream that is too large and could be resumed', {}, (response, id) => large(response, id, 'id: 1\ndata:\n\n'), 'REPLY_TOO_LARGE'],
    ['a stream that is reset', {}, reset, 'UNREACHABLE']
  ]
  for (const [title, values, answerCall, code] of failures) {
    it(`outlives ${title}`, async test => {
      let answerNext = answerCall
      const server = await startRawMcpServer(test, (response, id) => { answerNext(response, id) })
      const room = createToolRoom(test)
      const echo = (await discover(room, { mcp: { url: server.url }, timeout: 5000 }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
      assert.equal((await room.call(echo, values)).error?.code, code)
      answerNext = good
      assert.equal((await room.call(echo)).value, 'hi')
      assert.equal(server.sessions(), 1)
    })
  }

  describe('resumes a stream that ends after an event with an id', () => {
    const begin = events('id: 1\nretry: 1\ndata:\n\n')
    const resumptions: readonly [title: string, answerCall: AnswerCall, value: unknown, code: string | undefined][] = [
      ['and takes the answer', (response, id) => events(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'hi' }] } })}\n\n`)(response, id), 'hi', undefined],
      ['and refuses one that is too large', large, NOTHING, 'REPLY_TOO_LARGE'],
      ['unless the server refuses', answer(405, 'text/plain', ''), NOTHING, 'REPLY_INVALID']
    ]
    for (const [title, answerCall, value, code] of resumptions) {
      it(title, async test => {
        let asked: unknown
        const server = await startRawMcpServer(test, (response, id) => {
          asked = id
          begin(response, id)
        }, (response, lastEvent) => lastEvent === '1' ? answerCall(response, asked) : response.writeHead(405).end())
        const room = createToolRoom(test)
        const echo = (await discover(room, { mcp: { url: server.url }, timeout: 5000 }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
        const outcome = await room.call(echo)
        assert.deepEqual([outcome.value, outcome.error?.code], [value, code])
      })
    }
  })

  it('keeps no stream open for a call that is given up', async test => {
    let closed = false
    const server = await startRawMcpServer(test, response => {
      response.on('close', () => { closed = true })
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    })
    const room = createToolRoom(test)
    const echo = (await discover(room, { mcp: { url: server.url }, timeout: 2000 }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
    assert.equal((await room.call(echo)).error?.code, 'TIMEOUT')
    await until(() => closed)
  })

  it('is begun anew when the server does not know it any more, and the call is made again', async test => {
    const answers = [answer(404, 'text/plain', 'which session?'), good]
    const server = await startRawMcpServer(test, (response, id) => { (answers.shift() as AnswerCall)(response, id) })
    const room = createToolRoom(test)
    const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
    assert.equal((await room.call(echo)).value, 'hi')
    assert.deepEqual([server.sessions(), server.calls()], [2, 2])
  })

  it('is begun anew once for one call', async test => {
    const server = await startRawMcpServer(test, answer(404, 'text/plain', 'which session?'))
    const room = createToolRoom(test)
    const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
    const { error } = await room.call(echo)
    assert.deepEqual([error?.code, error?.message, error?.isInDoubt], ['UNREACHABLE', 'answered with status 404: the session is lost', false])
    assert.equal(server.calls(), 2)
  })

  const refusals: readonly [title: string, answerCall: AnswerCall, message: string][] = [
    ['status 400', answer(400, 'text/plain', 'no such customer'), 'answered with status 400: no such customer'],
    ['an error of JSON-RPC with status 400', (response, id) => answer(400, 'application/json', JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no such customer' } }))(response, id), 'answered with error -32602: no such customer'],
    ['an error of JSON-RPC', (response, id) => answer(200, 'application/json', JSON.stringify({ jsonrpc: '2.0', id, result: null, error: { code: -32602, message: 'no such customer' } }))(response, id), 'answered with error -32602: no such customer']
  ]
  for (const [title, refuse, message] of refusals) {
    it(`goes on, with the calls of others, after ${title}`, async test => {
      let answerFirst = () => {}
      const server = await startRawMcpServer(test, (response, id) => {
        if (server.calls() > 1) return refuse(response, id)
        answerFirst = () => good(response, id)
      })
      const room = createToolRoom(test)
      const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
      const first = room.call(echo)
      await until(() => server.calls() === 1)
      assert.equal((await room.call(echo)).error?.message, message)
      answerFirst()
      assert.equal((await first).value, 'hi')
      assert.equal(server.sessions(), 1)
    })
  }

  it('pays once with a tool that does not keep its output schema, and warns', async test => {
    const server = await startRawMcpServer(test, answer(200, 'application/json', { content: [{ type: 'text', text: 'paid' }] }), undefined, () => [
      { name: 'pay', inputSchema: { type: 'object' }, outputSchema: { type: 'object', properties: { id: { type: 'string' }, sum: { type: 'integer' } }, required: ['id'] } }
    ])
    const room = createToolRoom(test)
    const pay = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_pay') as RegisteredTool
    const { outcome, value } = await room.call(pay)
    assert.deepEqual([outcome, value, server.calls()], ['ok', 'paid', 1])
    assert.match(JSON.stringify(room.warnings), /no \\"structuredContent\\"/)
  })

  it('brings the tools that can be used beside those that cannot, which are told', async test => {
    const server = await startRawMcpServer(test, good, undefined, () => [
      null as unknown as object, { name: null }, { name: 'bad', inputSchema: { type: 'odd' } },
      { name: 'good', description: null, inputSchema: null, outputSchema: null, annotations: null, _meta: null }
    ])
    const room = createToolRoom(test)
    assert.deepEqual([...(await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).keys()], ['mcp_raw_good'])
    assert.deepEqual(room.caller.problems('mcp.raw').map(problem => problem.split(' cannot')[0]), ['its tool number 1', 'its tool number 2', 'its tool bad'])
  })

  it('takes many answers at once for no flood', async test => {
    const server = await startRawMcpServer(test, (response, id) => events('id: 1\ndata:\n\n', `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'hi' }] } })}\n\n`)(response, id))
    const room = createToolRoom(test)
    const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
    const outcomes = await Promise.all(Array.from({ length: 400 }, () => room.call(echo)))
    assert.deepEqual(new Set(outcomes.map(({ outcome }) => outcome)), new Set(['ok']))
  })

  const ping = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  const floods: readonly [title: string, flood: (response: ServerResponse) => void][] = [
    ['notifications', response => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${ping}\n\n`.repeat(500))],
    ['comments', response => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': x\n\n'.repeat(500))],
    ['broken messages', response => response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {\n\n'.repeat(500))],
    ['a message that is too large', response => response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'a', params: { a: 'x'.repeat(1_100_000) } })}\n\n`)]
  ]
  for (const [title, flood] of floods) {
    it(`ends, and its tools are not called for a while, when the server floods it with ${title}`, async test => {
      const server = await startRawMcpServer(test, good, flood)
      const room = createToolRoom(test)
      const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
      await until(() => echo.state() === 'failed')
      const { error } = await room.call(echo)
      assert.deepEqual([error?.code, error?.isInDoubt, server.calls(), server.sessions()], ['UNREACHABLE', false, 0, 1])
      assert.match(error?.message ?? '', /its connection was closed$/)
      assert.match(JSON.stringify(room.warnings), /its connection was closed/)
    })
  }

  it('ends when the server floods it with a list of messages in place of an answer', async test => {
    const server = await startRawMcpServer(test, answer(200, 'application/json', `[${Array.from({ length: 500 }, () => ping).join()}]`))
    const room = createToolRoom(test)
    const echo = (await discover(room, { mcp: { url: server.url } }, 'mcp.raw')).get('mcp_raw_echo') as RegisteredTool
    assert.match((await room.call(echo)).error?.message ?? '', /^sent more than 100 messages/)
    assert.equal(echo.state(), 'failed')
  })

  it('ends with its process, and what that has started, when it floods its output', async test => {
    const room = createToolRoom(test, { commands: parseStdioCommands(`flooding="${process.execPath}" --import tsx "${floodingServer}"`) })
    const tools = await discover(room, { mcp: { command: 'flooding' } }, 'mcp.flooding')
    const flood = tools.get('mcp_flooding_flood') as RegisteredTool
    const { value } = await room.call(flood)
    await until(() => flood.state() === 'failed')
    assert.match((await room.call(flood)).error?.message ?? '', /^sent more than 100 messages/)
    await until(() => !isAlive(Number(value)))
  })
})
