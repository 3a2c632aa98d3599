import { type JsonObject } from '../../base/json.ts'
import { type CommonDefinition, type ToolDefinition } from '../definition/definition.ts'
import { about, checkHost, own, policyOf } from '../definition/endpoint.ts'
import { type Operator } from '../operator.ts'
import { parseUrlTemplate } from '../rest/url-template.ts'

/** The definition of a tool of an MCP server, or of a whole server with all its tools. */
export interface McpDefinition extends ToolDefinition {
  readonly server: McpServer
  /** The tool's name on the server; `undefined` for the whole server, whose tools are named `{name}_{tool}`. */
  readonly tool: string | undefined
  /** Whether the server wraps the tool's result in an object `{"result": …}`, as its output schema shows (FastMCP does so). */
  readonly wrapsResult?: boolean
  /** Whether `returns` is the output schema that the server offers, and not a promise of the registration. */
  readonly isReturnsOffered?: boolean
}

/** The place of an MCP server: an address, or the name of a command that the operator allows. */
export type McpServer =
  | { readonly kind: 'http', readonly url: string }
  | { readonly kind: 'stdio', readonly command: string }

/** Reads the part of a registration that is about MCP. @throws Error with the reason why this is no MCP tool */
export function parseMcp (common: CommonDefinition, endpoint: JsonObject, operator: Operator): McpDefinition {
  const server = mcpServer(endpoint, operator)
  if (server.kind === 'http') checkHost(new URL(server.url).host, common, operator)
  else if (common.headers.length > 0) throw new Error('a command takes no headers')
  // A registration with the key mcp:{server}:{tool} is one tool of the server; with the key mcp:{server} it is the whole server.
  const [, ...segments] = common.id.split('.')
  const tool = own(endpoint, 'tool') as string | undefined ?? (segments.length > 1 ? segments.at(-1) : undefined)
  return { ...common, type: 'mcp', isRelative: false, server, tool, standsFor: tool === undefined ? 'an MCP server' : undefined, policy: policyOf(common) }
}

function mcpServer (endpoint: JsonObject, operator: Operator): McpServer {
  const command = own(endpoint, 'command') as string | undefined
  const url = own(endpoint, 'url') as string | undefined
  if ((command === undefined) === (url === undefined)) throw new Error('an mcp tool needs either a "url" or a "command"')
  if (command !== undefined) {
    if (!operator.commands.has(command)) throw new Error(`command "${command}" is not one that the operator allows`)
    return { kind: 'stdio', command }
  }
  const template = about('url', () => parseUrlTemplate(url as string))
  if (template.origin === undefined || template.placeholders.length > 0) throw new Error('url: must be absolute, without {placeholders}')
  return { kind: 'http', url: template.origin + template.path }
}
