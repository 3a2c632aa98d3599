import { canonicalJson, type Json } from '../../base/json.ts'
import { oneAtATime } from '../../runtime/one-at-a-time.ts'
import { createRegisteredTool, type RegisteredTool } from '../call/registered-tool.ts'
import { logUnprepared, type ToolSource } from '../call/tool-source.ts'
import { resolveHeaders } from '../definition/headers.ts'
import { type HttpAgent } from '../rest/http-agent.ts'
import { type SharedPool } from '../rest/shared-pool.ts'
import { type ToolResources } from '../tool-type.ts'
import { createMcpConnection, type McpConnection } from './mcp-connection.ts'
import { type McpDefinition } from './mcp-definition.ts'
import { discoverTools } from './mcp-discovery.ts'
import { type OfferProblem } from './mcp-offer.ts'
import { readMcpReply } from './mcp-reply.ts'

/** Opens the source that provides the tools of one MCP server. When the server changes its list of tools, the source changes its tools too. */
export function openMcpSource (definition: McpDefinition, servers: SharedPool<McpConnection>, agent: HttpAgent, resources: ToolResources): ToolSource {
  const { operator, maxReply, log, changed } = resources
  const failed = logUnprepared(definition, resources)
  const { server } = definition
  const { headers, secrets } =
    server.kind === 'http' ? resolveHeaders(definition.headers, operator.secrets, new URL(server.url).host) : { headers: {}, secrets: [] }
  const key = canonicalJson([server as unknown as Json, headers])
  const connection = servers.acquire(key, () => createMcpConnection({ server, headers, secrets, agent, commands: operator.commands, maxReply, failed }))
  let tools = new Map<string, RegisteredTool>()
  let definitions = new Map<string, McpDefinition>()
  let problems: readonly OfferProblem[] = []

  function create (discovered: McpDefinition): RegisteredTool {
    return createRegisteredTool(
      discovered,
      {
        attempted: connection.attempted,
        state: connection.state,
        call: async (values, attempt) => {
          const result = await connection.call(discovered.tool as string, values, attempt)
          const about = { tool: discovered.id, requestId: attempt.requestId }
          const warn = (reason: string) => log.warn({ ...about, reason }, 'a tool gave a result that is not as it should be')
          return { value: readMcpReply(result, discovered, secrets, maxReply, warn), secrets }
        },
        close: async () => {}
      },
      resources
    )
  }

  function take (discovered: readonly McpDefinition[]): boolean {
    definitions = new Map(discovered.map(each => [each.revision, each]))
    const next = new Map(discovered.map(each => [each.revision, tools.get(each.revision) ?? create(each)]))
    const isOther = next.size !== tools.size || [...next.keys()].some(revision => !tools.has(revision))
    tools = next
    return isOther
  }

  /** Updates the tools from the server's list. Tools whose description is unchanged stay, with their statistics and circuit breakers. */
  const discovering = oneAtATime(async () => {
    const offer = connection.offer()
    if (offer === undefined) return
    const found = definition.tool === undefined ? [...offer.problems] : []
    const discovered = await discoverTools(definition, offer.tools, (tool, reason) => found.push({ tool, reason }), definitions)
    const known = new Set(problems.map(describeProblem))
    const unheard = found.filter(problem => !known.has(describeProblem(problem)))
    for (const { tool, reason } of unheard) log.warn({ tool: definition.id, offered: tool, reason }, 'a tool of an MCP server cannot be used')
    problems = found
    if (take(discovered)) changed()
  })

  take(beforeDiscovery(definition))
  const unwatch = connection.watch(() => { void discovering.run() })
  if (connection.offer() !== undefined) void discovering.run()
  return {
    definition,
    tools: () => [...tools.values()],
    problems: () => problems.map(describeProblem),
    attempted: connection.attempted.then(() => discovering.idle()),
    state: connection.state,
    async close () {
      unwatch()
      await servers.release(key)
    }
  }
}

/**
 * The tools of a registration before the server has listed any. If the registration is for a single tool, templates can call it at once, as
 * with other protocols. The calls fail until the server is connected.
 */
function beforeDiscovery (definition: McpDefinition): McpDefinition[] {
  return definition.tool === undefined ? [] : [definition]
}

function describeProblem ({ tool, reason }: OfferProblem): string {
  return `its tool ${tool} cannot be used: ${reason}`
}
