import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Activity } from '../../src/observe/activity.ts'
import { type RegisteredTool } from '../../src/tool/registered-tool.ts'
import { startGrpcToolServer, TRANSLATOR_PROTO } from '../helpers/grpc-tool-server.ts'
import { startMcpToolServer } from '../helpers/mcp-tool-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom, type ToolRoom } from './tool-room.ts'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

/** An activity whose calls are all in one span. */
const activity: Pick<Activity, 'beginToolCall'> = { beginToolCall: () => ({ traceparent, span: undefined, ended: () => {} }) }

async function callTraced ({ caller }: ToolRoom, tool: RegisteredTool, values = {}): Promise<unknown> {
  const { value, error } = await caller.call(tool, values, { signal: new AbortController().signal, requestId: 'request-7', activity: activity as Activity })
  assert.equal(error, undefined)
  return value
}

describe('the request\'s id and the trace context', () => {
  it('go to a REST tool as headers', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await callTraced(room, room.register({ url: `${server.origin}/text` }))
    const { 'x-request-id': id, traceparent: trace } = server.requests[0]?.headers ?? {}
    assert.deepEqual([id, trace], ['request-7', traceparent])
  })

  it('go to a gRPC tool as metadata', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    await callTraced(room, room.register({ grpc: { url: server.address, method: 'translate.Translator/Translate', proto: TRANSLATOR_PROTO } }), { text: 'x' })
    const { 'x-request-id': id, traceparent: trace } = server.calls[0]?.metadata ?? {}
    assert.deepEqual([id, trace], ['request-7', traceparent])
  })

  it('goes to an MCP tool in the message, since its connection is shared', async test => {
    const server = await startMcpToolServer(test)
    const room = createToolRoom(test)
    const definition = room.define({ mcp: { url: server.url } }, 'mcp.changing')
    room.caller.register([definition])
    await room.caller.prepared(10_000)
    const tool = room.caller.register([definition]).find(({ name }) => name === 'mcp_changing_trace')
    assert.equal(await callTraced(room, tool as RegisteredTool), traceparent)
  })

  it('is left to a registration that sends its own', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await callTraced(room, room.register({ url: `${server.origin}/text`, headers: { 'x-request-id': 'fixed' } }))
    assert.equal(server.requests[0]?.headers['x-request-id'], 'fixed')
  })
})

describe('the name of a call that changes things', () => {
  it('is the same for each attempt of a call, and another one for the next call', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ restful: { url: `${server.origin}/503`, method: 'POST' }, idempotent: true, retries: 1 })
    await room.call(tool)
    await room.call(tool)
    const keys = server.requests.map(({ headers }) => String(headers['idempotency-key']))
    assert.deepEqual([keys.length, new Set(keys).size, keys[0] === keys[1], keys[2] === keys[3]], [4, 2, true, true])
    assert.match(keys[0] ?? '', /^[0-9a-f-]{36}$/)
  })

  it('does not go to a GET, and gives way to that of a registration', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await room.call(room.register({ restful: { url: `${server.origin}/echo`, method: 'GET' } }))
    await room.call(room.register({ restful: { url: `${server.origin}/echo`, method: 'PUT' }, headers: { 'Idempotency-Key': 'fixed' } }))
    assert.deepEqual(server.requests.map(({ headers }) => headers['idempotency-key']), [undefined, 'fixed'])
  })
})
