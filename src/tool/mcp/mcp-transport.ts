import { type Transport } from '@modelcontextprotocol/client'
import { type McpServer } from './mcp-definition.ts'
import { type HttpAgent } from '../rest/http-agent.ts'
import { createHttpTransport } from './mcp-http-transport.ts'
import { type StdioCommand } from './stdio-command.ts'

export interface McpTransportOptions {
  readonly agent: HttpAgent
  readonly commands: ReadonlyMap<string, StdioCommand>
  /** The largest size of a message, in bytes. */
  readonly maxReply: number
}

/** Makes the transport for one connection to an MCP server. It opens nothing yet. */
export async function createMcpTransport (
  server: McpServer,
  headers: Readonly<Record<string, string>>,
  { agent, commands, maxReply }: McpTransportOptions
): Promise<Transport> {
  return server.kind === 'http'
    ? createHttpTransport(new URL(server.url), headers, agent, maxReply)
    : createStdioTransport(commands.get(server.command), maxReply)
}

/**
 * Makes the transport to an MCP server that is a process, started with the operator's command. The process gets only the few environment
 * variables that every program needs, none of the service's own.
 */
async function createStdioTransport (command: StdioCommand | undefined, maxReply: number): Promise<Transport> {
  if (command === undefined) throw new Error('the command is not one that the operator allows')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  // The client would start a second process to learn the protocol's version, but only for a transport of exactly the class
  // StdioClientTransport. With a subclass it asks the same process.
  class OneProcessTransport extends StdioClientTransport {}
  return new OneProcessTransport({ command: command.command, args: [...command.arguments], stderr: 'ignore', maxBufferSize: 2 * maxReply })
}
