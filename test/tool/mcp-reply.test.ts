import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallToolResult, type Tool } from '@modelcontextprotocol/client'
import { type Json } from '../../src/base/json.ts'
import { type McpDefinition } from '../../src/tool/mcp/mcp-definition.ts'
import { discoverTools } from '../../src/tool/mcp/mcp-discovery.ts'
import { readMcpReply } from '../../src/tool/mcp/mcp-reply.ts'
import { parseParameters } from '../../src/tool/schema/parameters.ts'
import { define } from './tool-room.ts'

const text = (...texts: string[]): CallToolResult => ({ content: texts.map(each => ({ type: 'text', text: each })) })
const OBJECT: Json = { type: 'object' }

describe('the reply of an MCP tool', () => {
  const replies: readonly [title: string, result: CallToolResult, returns: Json | undefined, value: unknown][] = [
    ['one text', text('a'), undefined, 'a'],
    ['several texts', text('a', 'b'), undefined, 'a\nb'],
    ['JSON text that nobody calls JSON', text('{"a":1}'), undefined, '{"a":1}'],
    ['JSON text that returns calls an object', text('{"a":12345678901234567890}'), OBJECT, { a: 12345678901234567890n }],
    ['structure beside text', { ...text('{"a":1}'), structuredContent: { a: 1 } }, undefined, { a: 1 }],
    ['no content', { content: [] }, undefined, ''],
    ['an image beside text', { content: [{ type: 'text', text: 'a' }, { type: 'image', data: 'AA==', mimeType: 'image/png' }] }, undefined, [{ type: 'text', text: 'a' }, { type: 'image', data: 'AA==', mimeType: 'image/png' }]]
  ]
  for (const [title, result, returns, value] of replies) {
    it(`is read: ${title}`, () => assert.deepEqual(readMcpReply(result, { returns: returns === undefined ? undefined : parseParameters(returns) }, [], 1000), value))
  }

  it('is what is in the object that the server wraps it into', () => {
    const result = { content: [], structuredContent: { result: ['a', 'b'] } }
    assert.deepEqual(readMcpReply(result, { returns: undefined, wrapsResult: true }, [], 1000), ['a', 'b'])
  })

  const failures: readonly [title: string, result: CallToolResult, code: string][] = [
    ['an error', { ...text('no'), isError: true }, 'TOOL_ERROR'],
    ['broken JSON', text('{"a":'), 'REPLY_INVALID'],
    ['too deep', { content: [], structuredContent: JSON.parse('{"a":'.repeat(101) + '1' + '}'.repeat(101)) as Record<string, unknown> }, 'REPLY_INVALID'],
    ['too much', text(JSON.stringify({ a: 'x'.repeat(1000) })), 'REPLY_TOO_LARGE']
  ]
  for (const [title, result, code] of failures) {
    it(`is a failure: ${title}`, () => assert.throws(() => readMcpReply(result, { returns: parseParameters(OBJECT) }, [], 1000), { code }))
  }
})

describe('the output schema of an MCP tool', () => {
  const server = define({ mcp: { url: 'http://127.0.0.1:1/' } }, undefined, 'mcp.lists') as McpDefinition
  const discovered = async (outputSchema: object) => (await discoverTools(server, [{ name: 'list', inputSchema: { type: 'object' }, outputSchema } as Tool], () => {}))[0]

  it('is that of the result where the server wraps it', async () => {
    const tool = await discovered({ type: 'object', properties: { result: { type: 'array', items: { $ref: '#/$defs/Name' } } }, required: ['result'], $defs: { Name: { type: 'string' } }, 'x-fastmcp-wrap-result': true })
    assert.equal(tool?.wrapsResult, true)
    assert.deepEqual(tool?.returns?.compiled.validate(['a'], 'result'), [])
    assert.notDeepEqual(tool?.returns?.compiled.validate([1], 'result'), [])
  })

  it('is taken as it is where a result has more than one member', async () => {
    assert.equal((await discovered({ type: 'object', properties: { result: { type: 'string' }, next: { type: 'string' } } }))?.wrapsResult, false)
  })
})

describe('the tools that an MCP server offers', () => {
  const tool = (name: string, inputSchema: object = { type: 'object' }) => ({ name, inputSchema }) as Tool
  const server = define({ mcp: { url: 'http://127.0.0.1:1/' } }, undefined, 'mcp.chrome') as McpDefinition

  it('are called by the names that identifiers may have, in a fixed order, and the others are told', async () => {
    const rejected: string[] = []
    const discovered = await discoverTools(server, [tool('tab.open'), tool('tab-open'), tool('bad', { type: 'object', properties: { a: { type: 'odd' } } }), tool('__proto__')], (name, reason) => rejected.push(`${name}: ${reason.slice(0, 40)}`))
    assert.deepEqual(discovered.map(({ name, id }) => [name, id]), [['mcp_chrome___proto__', 'mcp.chrome.__proto__'], ['mcp_chrome_tab_open', 'mcp.chrome.tab-open']])
    assert.deepEqual(rejected, ['bad: schema.properties.a.type must be one of ', 'tab.open: another tool is called mcp_chrome_tab_op'])
  })

  it('are compiled when they are called: what cannot be compiled refuses every call', async () => {
    const [found] = await discoverTools(server, [tool('bad', { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/' } } })], () => {})
    assert.match(found?.parameters?.compiled.validate({}, 'arguments')[0]?.message ?? '', /^cannot be checked: /)
  })

  it('leave out the one that a registration names when it cannot be used', async () => {
    const registered = define({ mcp: { url: 'http://127.0.0.1:1/', tool: 'bad' } }) as McpDefinition
    const rejected: string[] = []
    assert.deepEqual(await discoverTools(registered, [tool('bad', { $ref: 'http://127.0.0.1:1/' })], name => rejected.push(name)), [])
    assert.deepEqual(rejected, ['bad'])
  })

  it('compiles nothing anew that the server describes as before', async () => {
    const first = await discoverTools(server, [tool('open', { type: 'object' }), tool('close')], () => {})
    const known = new Map(first.map(each => [each.revision, each]))
    const again = await discoverTools(server, [tool('open', { type: 'object' }), tool('close', { type: 'object', properties: { a: {} } })], () => {}, known)
    assert.deepEqual(again.map(each => first.includes(each)), [false, true])
  })

  it('are what the registration says, where it says something', async () => {
    const registered = define({ mcp: { url: 'http://127.0.0.1:1/', tool: 'open' }, description: 'mine', parameters: [{ name: 'url' }] }) as McpDefinition
    const [discovered] = await discoverTools(registered, [{ ...tool('open', { type: 'object', properties: { other: {} } }), description: 'theirs' }], () => {})
    assert.deepEqual([discovered?.description, discovered?.parameters?.names], ['mine', ['url']])
  })
})
