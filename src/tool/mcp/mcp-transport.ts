import { type Transport } from '@modelcontextprotocol/client'
import { type McpServer } from './mcp-definition.ts'
import { type HttpAgent } from '../rest/http-agent.ts'
import { type ToolError } from '../call/tool-error.ts'
import { McpHttpTransport } from './mcp-http-transport.ts'
import { McpStdioTransport } from './mcp-stdio-transport.ts'
import { type StdioCommand } from './stdio-command.ts'

export interface McpTransportOptions {
  readonly agent: HttpAgent
  readonly commands: ReadonlyMap<string, StdioCommand>
  /** The largest size of a message, in bytes. */
  readonly maxReply: number
}

/** The transport of one connection to an MCP server. */
export interface McpTransport extends Transport {
  /** Why the connection has ended; `undefined` while it has not. */
  readonly ended: ToolError | undefined
}

/** Makes the transport for one connection to an MCP server. It opens nothing yet. */
export function createMcpTransport (
  server: McpServer,
  headers: Readonly<Record<string, string>>,
  { agent, commands, maxReply }: McpTransportOptions
): McpTransport {
  if (server.kind === 'http') return new McpHttpTransport(new URL(server.url), headers, agent, maxReply)
  const command = commands.get(server.command)
  if (command === undefined) throw new Error('the command is not one that the operator allows')
  return new McpStdioTransport(command, maxReply)
}
