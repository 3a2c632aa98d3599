import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { everythingServer, startMcpToolServer } from '../helpers/mcp-tool-server.ts'
import { startService } from '../helpers/service.ts'
import { waitFor } from '../helpers/wait-for.ts'

const commands = { MCP_STDIO_COMMANDS: `everything="${process.execPath}" "${everythingServer}" stdio` }

describe('an MCP server that is registered as a whole', () => {
  it('over stdio brings tools that are listed, tried by hand, and used in templates of both languages', async t => {
    const { get, post } = await startService(t, {
      'tools:mcp:everything': { mcp: { command: 'everything' } },
      'templates:go': { syntax: 'go', userPrompt: '{{mcp_everything_echo "go"}}; {{mcp_everything_get_sum 1 2}}; {{with mcp_everything_get_structured_content "Chicago"}}{{.temperature}}{{end}}' },
      'templates:handlebars': { syntax: 'handlebars', userPrompt: '{{mcp_everything_echo message="handlebars"}}; {{mcp_everything_get_sum a=1 b=2}}; {{#with (mcp_everything_get_structured_content "Chicago")}}{{temperature}}{{/with}}' }
    }, commands)
    await waitFor('the tools to be listed', async () => ((await get('/api/tools?prefix=mcp.everything.')).json as unknown as string[]).includes('mcp.everything.echo'))

    const { json: echo } = await get('/api/tools/mcp.everything.echo')
    assert.deepEqual([echo['function'], echo['preparation'], echo['statistics']?.['calls']], ['mcp_everything_echo', 'ready', 0])
    assert.equal((await get('/api/tools/mcp.everything')).json['preparation'], 'ready')
    assert.equal((await post('/api/tools/mcp.everything.get-sum/call', { arguments: [1, 2] })).json['value'], 'The sum of 1 and 2 is 3.')
    assert.equal((await post('/api/tools/mcp.everything.get-sum/call', { arguments: { a: 'one' } })).status, 400)
    assert.equal((await post('/api/tools/mcp.everything/call', {})).status, 409)

    assert.equal((await post('/api/render/prompts/go')).json['rendered_prompt'], 'Echo: go; The sum of 1 and 2 is 3.; 36')
    assert.equal((await post('/api/render/prompts/handlebars')).json['rendered_prompt'], 'Echo: handlebars; The sum of 1 and 2 is 3.; 36')
  })

  it('links a prompt when the server first offers what it needs', async t => {
    const server = await startMcpToolServer(t)
    const { get, post } = await startService(t, { 'tools:mcp:changing': { mcp: { url: server.url } }, 'templates:p': '{{mcp_changing_later "x"}}' })
    assert.equal((await post('/api/render/prompts/p')).json['code'], 'TEMPLATE_LINK')
    server.offer('later', {})
    await waitFor('the tool to be listed', async () => (await get('/api/tools/mcp.changing.later')).status === 200)
    assert.notEqual((await post('/api/render/prompts/p')).json['code'], 'TEMPLATE_LINK')
  })
})

describe('one tool of an MCP server, registered by name', () => {
  it('gives its default while the server is away, and its result once it is there', async t => {
    const server = await startMcpToolServer(t)
    await server.stop()
    const { post } = await startService(t, { 'tools:mcp:changing:whoami': { mcp: { url: server.url }, default: 'unknown', breaker: false }, 'templates:p': 'I am {{mcp_changing_whoami}}' })
    assert.equal((await post('/api/render/prompts/p')).json['rendered_prompt'], 'I am unknown')
    await startMcpToolServer(t, { port: server.port })
    await waitFor('the server to be found', async () => String((await post('/api/render/prompts/p')).json['rendered_prompt']) === 'I am nobody')
  })

  it('answers 409 by hand when the server is there and does not offer it', async t => {
    const server = await startMcpToolServer(t)
    const { post } = await startService(t, { 'tools:mcp:changing:nosuch': { mcp: { url: server.url } } })
    const { status, json } = await post('/api/tools/mcp.changing.nosuch/call', {})
    assert.equal(status, 409)
    assert.match(String(json['message']), /its server does not offer "nosuch"/)
  })
})
