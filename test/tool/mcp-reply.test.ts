import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { type McpDefinition } from '../../src/tool/mcp/mcp-connection.ts'
import { discoverTools, readMcpReply } from '../../src/tool/mcp/mcp-type.ts'
import { type ListedTool } from '../../src/tool/mcp/mcp-messages.ts'
import { parseParameters } from '../../src/tool/parameters.ts'
import { define } from './tool-room.ts'

const text = (...texts: string[]): JsonObject => ({ content: texts.map(each => ({ type: 'text', text: each })) })
const OBJECT: Json = { type: 'object' }

describe('the reply of an MCP tool', () => {
  const replies: readonly [title: string, result: JsonObject, returns: Json | undefined, value: unknown][] = [
    ['one text', text('a'), undefined, 'a'],
    ['several texts', text('a', 'b'), undefined, 'a\nb'],
    ['JSON text that nobody calls JSON', text('{"a":1}'), undefined, '{"a":1}'],
    ['JSON text that returns calls an object', text('{"a":12345678901234567890}'), OBJECT, { a: 12345678901234567890n }],
    ['structure beside text', { ...text('{"a":1}'), structuredContent: { a: 1 } }, undefined, { a: 1 }],
    ['no content', { content: [] }, undefined, ''],
    ['an image beside text', { content: [{ type: 'text', text: 'a' }, { type: 'image', data: 'AA==', mimeType: 'image/png' }] }, undefined, [{ type: 'text', text: 'a' }, { type: 'image', mimeType: 'image/png', bytes: 1, note: 'image/png, 1 bytes: left out' }]],
    ['sound', { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] }, undefined, [{ type: 'audio', mimeType: 'audio/wav', bytes: 3, note: 'audio/wav, 3 bytes: left out' }]],
    ['a binary file', { content: [{ type: 'resource', resource: { uri: 'file:a', mimeType: 'a/b', blob: 'AAAA' } }] }, undefined, [{ type: 'resource', resource: { uri: 'file:a', mimeType: 'a/b', bytes: 3, note: 'a/b, 3 bytes: left out' } }]],
    ['null for what is not there', { content: [null, { type: 'text', text: 'a', annotations: null }], structuredContent: null, isError: null }, undefined, 'a'],
    ['no content at all', {}, undefined, '']
  ]
  for (const [title, result, returns, value] of replies) {
    it(`is read: ${title}`, () => assert.deepEqual(readMcpReply(result, { returns: returns === undefined ? undefined : parseParameters(returns) }, [], 1000), value))
  }

  it('is what is in the object that the server wraps it into', () => {
    const result = { content: [], structuredContent: { result: ['a', 'b'] } }
    assert.deepEqual(readMcpReply(result, { returns: undefined, wrapsResult: true }, [], 1000), ['a', 'b'])
  })

  it('is a result although the structure is missing that the server promised, with a warning', () => {
    const warnings: string[] = []
    const definition = { returns: parseParameters(OBJECT), isReturnsOffered: true }
    const read = (result: JsonObject) => readMcpReply(result, definition, [], 1000, warning => warnings.push(warning))
    assert.deepEqual([read(text('paid')), read(text('{"paid":true}'))], ['paid', { paid: true }])
    assert.equal(warnings.length, 2)
  })

  it('tells all that a tool says of its failure, but no secret', () => {
    const words = `${'x'.repeat(500)} s3cr3t-value`
    assert.throws(() => readMcpReply({ ...text(words), isError: true }, { returns: undefined }, ['s3cr3t-value'], 1000), { message: `answered with an error: ${'x'.repeat(500)} [secret]` })
  })

  const failures: readonly [title: string, result: JsonObject, code: string][] = [
    ['an error', { ...text('no'), isError: true }, 'TOOL_ERROR'],
    ['broken JSON', text('{"a":'), 'REPLY_INVALID'],
    ['content that is no list', { content: 'hi' }, 'REPLY_INVALID'],
    ['too deep', { content: [], structuredContent: JSON.parse('{"a":'.repeat(101) + '1' + '}'.repeat(101)) as JsonObject }, 'REPLY_INVALID'],
    ['too much', text(JSON.stringify({ a: 'x'.repeat(1000) })), 'REPLY_TOO_LARGE']
  ]
  for (const [title, result, code] of failures) {
    it(`is a failure: ${title}`, () => assert.throws(() => readMcpReply(result, { returns: parseParameters(OBJECT) }, [], 1000), { code }))
  }
})

describe('the output schema of an MCP tool', () => {
  const server = define({ mcp: { url: 'http://127.0.0.1:1/' } }, undefined, 'mcp.lists') as McpDefinition
  const discovered = async (outputSchema: JsonObject) => (await discoverTools(server, [{ name: 'list', inputSchema: { type: 'object' }, outputSchema }], () => {}))[0]

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
  const tool = (name: string, inputSchema: JsonObject = { type: 'object' }): ListedTool => ({ name, inputSchema })
  const server = define({ mcp: { url: 'http://127.0.0.1:1/' } }, undefined, 'mcp.chrome') as McpDefinition

  it('are called by names of their own that identifiers may have, in a fixed order, and the others are told', async () => {
    const rejected: string[] = []
    const discovered = await discoverTools(server, [tool('tab.open'), tool('tab-open'), tool('bad', { type: 'object', properties: { a: { type: 'odd' } } }), tool('__proto__')], (name, reason) => rejected.push(`${name}: ${reason.slice(0, 40)}`))
    assert.deepEqual(discovered.map(({ name, id }) => [name, id]), [['mcp_chrome___proto__', 'mcp.chrome.__proto__'], ['mcp_chrome_tab_open', 'mcp.chrome.tab-open'], ['mcp_chrome_tab_open_ae36135f', 'mcp.chrome.tab.open']])
    assert.deepEqual(rejected, ['bad: schema.properties.a.type must be one of '])
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
