import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

// A program, started by the tests as an MCP server over stdio: it tells its process id, and it can die.
serveStdio(() => {
  const server = new McpServer({ name: 'mortal', version: '1.0.0' })
  server.registerTool('pid', {}, () => ({ content: [{ type: 'text', text: String(process.pid) }] }))
  server.registerTool('die', {}, () => process.exit(1))
  return server
})
