import { Server } from '@modelcontextprotocol/server'
import { ENGINE_VERSION } from '../../base/version.ts'
import { offerCompletions } from './completions.ts'
import { offerPrompts } from './prompts.ts'
import { offerResources } from './resources.ts'
import { offerTools } from './tools.ts'
import { type McpUses, type Visit } from './visit.ts'

/** Makes the MCP server that answers one request, with the entries that its caller may see. It has no state, so any replica can answer. */
export function createMcpServer (visit: Visit, uses: McpUses): Server {
  const server = new Server({ name: 'ai-prompt-shell', title: 'Prompts', version: ENGINE_VERSION }, {
    capabilities: { prompts: { listChanged: true }, tools: { listChanged: true }, resources: {}, completions: {} },
    instructions: 'Prompts of this service are listed, and rendered with your arguments. render_prompt renders one for a model.'
  })
  offerPrompts(server, visit, uses)
  offerTools(server, visit, uses)
  offerResources(server, visit, uses)
  offerCompletions(server, visit, uses)
  return server
}
