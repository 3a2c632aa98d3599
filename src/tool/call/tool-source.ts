import { canonicalJson, type Json } from '../../base/json.ts'
import { type Connector } from '../connector.ts'
import { type McpDefinition, type ToolDefinition } from '../definition/definition.ts'
import { createGrpcConnector } from '../grpc/grpc-connector.ts'
import { type DescriptionReader } from '../grpc/grpc-method.ts'
import { createGrpcServer, type GrpcServer } from '../grpc/grpc-server.ts'
import { resolveHeaders } from '../definition/headers.ts'
import { type HttpAgent } from '../rest/http-agent.ts'
import { oneAtATime } from '../../runtime/one-at-a-time.ts'
import { createMcpConnection, type McpConnection } from '../mcp/mcp-connection.ts'
import { discoverTools } from '../mcp/mcp-discovery.ts'
import { readMcpReply } from '../mcp/mcp-reply.ts'
import { type Operator } from '../operator.ts'
import { type PreparationState } from './preparation.ts'
import { createRegisteredTool, type RegisteredTool, type Surroundings } from './registered-tool.ts'
import { createRestfulConnector } from '../rest/restful-connector.ts'
import { SharedPool } from '../rest/shared-pool.ts'

/** What one registration brings: one tool, or all tools of an MCP server, which come and go. */
export interface ToolSource {
  readonly definition: ToolDefinition
  tools (): readonly RegisteredTool[]
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

export interface SourceOptions extends Surroundings {
  readonly operator: Operator
  readonly maxReply: number
  /** For requests whose replies are read at once. */
  readonly agent: HttpAgent
  /** For replies that are streams. */
  readonly streamAgent: HttpAgent
  /** For descriptions of gRPC services. */
  readonly reader: DescriptionReader
  /** Told when a source has other tools than before. */
  readonly changed: () => void
}

/** Makes sources; those of one server share its connection. */
export function createSourceFactory (options: SourceOptions): (definition: ToolDefinition) => ToolSource {
  const { operator, maxReply, agent, log } = options
  const grpcServers = new SharedPool<GrpcServer>()
  const mcpServers = new SharedPool<McpConnection>()

  // A tool with a stand-in does without its server: a warning comes with a call that fails.
  const failed = (definition: ToolDefinition) => (error: Error) => log[definition.fallback === undefined ? 'warn' : 'info']({ tool: definition.id, reason: error.message }, 'a tool could not be prepared')

  return definition => {
    switch (definition.type) {
      case 'restful':
        return singleSource(definition, createRestfulConnector(definition, agent, operator.baseUrls, operator.secrets), options)
      case 'grpc':
        return singleSource(definition, createGrpcConnector(definition, {
          baseUrls: operator.baseUrls,
          secrets: operator.secrets,
          servers: grpcServers,
          reader: options.reader,
          openServer: target => createGrpcServer(target, operator.egress, operator.tls, maxReply),
          failed: failed(definition)
        }), options)
      case 'mcp':
        return mcpSource(definition, mcpServers, options, failed(definition))
    }
  }
}

function singleSource (definition: ToolDefinition, connector: Connector, surroundings: Surroundings): ToolSource {
  const tools = [createRegisteredTool(definition, connector, surroundings)]
  return { definition, tools: () => tools, attempted: connector.attempted, state: connector.state, close: connector.close }
}

function mcpSource (definition: McpDefinition, servers: SharedPool<McpConnection>, options: SourceOptions, failed: (error: Error) => void): ToolSource {
  const { operator, streamAgent, maxReply, log } = options
  const { server } = definition
  const { headers, secrets } = server.kind === 'http' ? resolveHeaders(definition.headers, operator.secrets, new URL(server.url).host) : { headers: {}, secrets: [] }
  const key = canonicalJson([server as unknown as Json, headers])
  const connection = servers.acquire(key, () => createMcpConnection({ server, headers, secrets, agent: streamAgent, commands: operator.commands, maxReply, failed }))
  let tools = new Map<string, RegisteredTool>()
  let definitions = new Map<string, McpDefinition>()

  function create (discovered: McpDefinition): RegisteredTool {
    return createRegisteredTool(discovered, {
      attempted: connection.attempted,
      state: connection.state,
      call: async (values, attempt) => ({ value: readMcpReply(await connection.call(discovered.tool as string, values, attempt), discovered, secrets, maxReply), secrets }),
      close: async () => {}
    }, options)
  }

  function take (discovered: readonly McpDefinition[]): boolean {
    definitions = new Map(discovered.map(each => [each.revision, each]))
    const next = new Map(discovered.map(each => [each.revision, tools.get(each.revision) ?? create(each)]))
    const changed = next.size !== tools.size || [...next.keys()].some(revision => !tools.has(revision))
    tools = next
    return changed
  }

  /** Tools that the server describes as before stay, with all they have learned. */
  const discovering = oneAtATime(async () => {
    const rejected = (tool: string, reason: string) => log.warn({ tool: definition.id, offered: tool, reason }, 'a tool of an MCP server cannot be used')
    const offered = connection.tools()
    if (offered !== undefined && take(await discoverTools(definition, offered, rejected, definitions))) options.changed()
  })

  take(beforeDiscovery(definition))
  const unwatch = connection.watch(() => { void discovering.run() })
  if (connection.tools() !== undefined) void discovering.run()
  return {
    definition,
    tools: () => [...tools.values()],
    attempted: connection.attempted.then(() => discovering.idle()),
    state: connection.state,
    async close () {
      unwatch()
      await servers.release(key)
    }
  }
}

/** One tool of a server is a function from its registration on, as in other protocols, and until the server is there its calls fail. */
function beforeDiscovery (definition: McpDefinition): McpDefinition[] {
  return definition.tool === undefined ? [] : [definition]
}
