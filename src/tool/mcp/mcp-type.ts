import { createHttpAgent } from '../rest/http-agent.ts'
import { SharedPool } from '../rest/shared-pool.ts'
import { type ToolType } from '../tool-type.ts'
import { type McpConnection } from './mcp-connection.ts'
import { type McpDefinition, parseMcp } from './mcp-definition.ts'
import { openMcpSource } from './mcp-source.ts'

/** The type of tools that MCP servers offer. All tools of one server share its connection. */
export const mcpType: ToolType<McpDefinition> = {
  name: 'mcp',
  parse: parseMcp,
  connect (resources) {
    const { operator } = resources
    // Replies are streams, which can be silent for a long time, so there is no time limit between two pieces.
    const agent = createHttpAgent(operator.egress, operator.tls, { bodyTimeout: 0 })
    const servers = new SharedPool<McpConnection>()
    return {
      open: definition => openMcpSource(definition, servers, agent, resources),
      close: () => agent.close()
    }
  }
}
