import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { spawn } from 'node:child_process'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type TestContext } from 'node:test'
import { freePort } from './free-port.ts'

/** The MCP project's own test server, as a command: it exercises all of the protocol. */
export const everythingServer = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** Starts it with streamable HTTP on a free port; it ends with the test. */
export async function startEverythingServer (test: Pick<TestContext, 'after'>): Promise<string> {
  // It takes its port from the environment only, and cannot be asked which one it got.
  const port = await freePort()
  const child = spawn(process.execPath, [everythingServer, 'streamableHttp'], { env: { PATH: process.env['PATH'], PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
  test.after(() => new Promise<void>(resolve => {
    child.on('exit', () => resolve())
    child.kill('SIGKILL')
  }))
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => { if (chunk.includes('listening')) resolve() })
    child.on('exit', code => reject(new Error(`the server ended with ${code}`)))
  })
  return `http://127.0.0.1:${port}/mcp`
}

/** A program that is an MCP server over stdio: it tells its process id, and it can die. */
export const mortalServer = fileURLToPath(new URL('mcp-stdio-tool-server.ts', import.meta.url))

/** A program that is an MCP server over stdio, and that sends more than it should once its tool was called. */
export const floodingServer = fileURLToPath(new URL('flooding-mcp-server.ts', import.meta.url))

/** An MCP server of the 2026 protocol over streamable HTTP, whose tools a test can change. */
export interface McpToolServer {
  readonly url: string
  readonly port: number
  /** The `authorization` headers that have arrived. */
  readonly authorizations: readonly (string | undefined)[]
  /** Offers a further tool, and tells its clients. */
  offer (name: string, config: object): void
  stop (): Promise<void>
}

/** Starts it on a free port, or where one was before; it ends with the test. */
export async function startMcpToolServer (test: Pick<TestContext, 'after'>, { port = 0 } = {}): Promise<McpToolServer> {
  const authorizations: (string | undefined)[] = []
  const offered = new Map<string, object>([['whoami', {}]])
  const handler = createMcpHandler(({ requestInfo }) => {
    const server = new McpServer({ name: 'changing', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
    const authorization = requestInfo?.headers.get('authorization') ?? 'nobody'
    for (const [name, config] of offered) server.registerTool(name, config, () => ({ content: [{ type: 'text', text: authorization }] }))
    server.registerTool('fail', {}, () => ({ isError: true, content: [{ type: 'text', text: `no luck for ${authorization}` }] }))
    server.registerTool('trace', {}, ({ mcpReq }) => ({ content: [{ type: 'text', text: String(mcpReq._meta?.['traceparent']) }] }))
    server.registerTool('large', {}, () => ({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }] }))
    return server
  })
  const handle = toNodeHandler(handler)
  const server = createHttpServer((request, response) => {
    authorizations.push(request.headers.authorization)
    handle(request as Parameters<typeof handle>[0], response).catch(() => response.destroy())
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const stop = async () => {
    await handler.close()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  test.after(stop)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    port: bound,
    authorizations,
    offer (name, config) {
      offered.set(name, config)
      handler.notify.toolsChanged()
    },
    stop
  }
}
