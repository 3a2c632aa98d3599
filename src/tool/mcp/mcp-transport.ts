import { type Transport } from '@modelcontextprotocol/client'
import { type McpServer } from './mcp-definition.ts'
import { type HttpAgent } from '../rest/http-agent.ts'
import { createHttpTransport } from './mcp-http-transport.ts'
import { type StdioCommand } from './stdio-command.ts'

export interface McpTransportOptions {
  readonly agent: HttpAgent
  readonly commands: ReadonlyMap<string, StdioCommand>
  /** Bytes of one message. */
  readonly maxReply: number
}

/** Opens nothing yet: the way to an MCP server, for one connection. */
export async function createMcpTransport (
  server: McpServer,
  headers: Readonly<Record<string, string>>,
  { agent, commands, maxReply }: McpTransportOptions
): Promise<Transport> {
  return server.kind === 'http'
    ? createHttpTransport(new URL(server.url), headers, agent, maxReply)
    : createStdioTransport(commands.get(server.command), maxReply)
}

/** Runs the operator's command with the few environment variables that every program needs, and with none of the service's own. */
async function createStdioTransport (command: StdioCommand | undefined, maxReply: number): Promise<Transport> {
  if (command === undefined) throw new Error('the command is not one that the operator allows')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  // To learn the protocol's version, the client starts a second process beside a transport of exactly that class; it
  // asks the one process of a subclass.
  class OneProcessTransport extends StdioClientTransport {}
  return new OneProcessTransport({ command: command.command, args: [...command.arguments], stderr: 'ignore', maxBufferSize: 2 * maxReply })
}
