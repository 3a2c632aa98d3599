import { type Transport } from '@modelcontextprotocol/client'
import { type McpServer } from './definition.ts'
import { type HttpAgent, loadUndici } from './http-agent.ts'
import { type StdioCommand } from './stdio-command.ts'
import { ToolError } from './tool-error.ts'

export interface McpTransportOptions {
  readonly agent: HttpAgent
  readonly commands: ReadonlyMap<string, StdioCommand>
  /** Bytes of one message. */
  readonly maxReply: number
}

/** Opens nothing yet: the way to an MCP server, for one connection. */
export async function createMcpTransport (server: McpServer, headers: Readonly<Record<string, string>>, { agent, commands, maxReply }: McpTransportOptions): Promise<Transport> {
  return server.kind === 'http'
    ? createHttpTransport(new URL(server.url), headers, agent, maxReply)
    : createStdioTransport(commands.get(server.command), maxReply)
}

async function createHttpTransport (url: URL, headers: Readonly<Record<string, string>>, agent: HttpAgent, maxReply: number): Promise<Transport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { fetch: fetchWithUndici } = await loadUndici()
  const dispatcher = await agent.get()
  return new StreamableHTTPClientTransport(url, {
    // Redirects are failures, as with restful tools.
    requestInit: { headers, redirect: 'error' },
    fetch: async (address, init) => {
      const response = await fetchWithUndici(address, { ...init as object, dispatcher })
      return bounded(response as unknown as Response, maxReply)
    }
  })
}

/** The same response, whose body fails beyond a size; the stream of notifications is opened again by the transport then. */
function bounded (response: Response, limit: number): Response {
  if (response.body === null) return response
  let left = limit
  const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
    transform (chunk, controller) {
      left -= chunk.byteLength
      if (left < 0) controller.error(new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large'))
      else controller.enqueue(chunk)
    }
  }))
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
}

/** Runs the operator's command, with the few environment variables that every program needs and none of the service's own. */
async function createStdioTransport (command: StdioCommand | undefined, maxReply: number): Promise<Transport> {
  if (command === undefined) throw new Error('the command is not one that the operator allows')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  // To learn the protocol's version, the client starts a second process beside a transport of exactly that class; it
  // asks the one process of a subclass.
  class OneProcessTransport extends StdioClientTransport {}
  return new OneProcessTransport({ command: command.command, args: [...command.arguments], stderr: 'ignore', maxBufferSize: 2 * maxReply })
}
