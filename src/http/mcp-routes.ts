import { Type } from '../schema/builder.ts'
import { type Registry } from '../registry/registry.ts'
import { type App } from './app.ts'
import { type McpEndpoint } from './mcp-handler.ts'
import { type McpUses } from './mcp-tools.ts'

const Message = Type.Object({ jsonrpc: Type.Literal('2.0') }, { additionalProperties: true, description: 'A message of JSON-RPC' })

/** MCP over streamable HTTP: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
export function mcpRoutes (app: App, uses: Omit<McpUses, 'environs'>, registry: Registry): void {
  let endpoint: Promise<McpEndpoint> | undefined

  /** At the first request: most services have no MCP clients. */
  async function load (): Promise<McpEndpoint> {
    const { McpEndpoint } = await import('./mcp-handler.ts')
    return new McpEndpoint({ ...uses, environs: registry.environs }, registry)
  }

  app.addHook('preClose', async () => { await (await endpoint)?.close() })

  app.post('/mcp', {
    config: { role: 'render' },
    // Not in openapi.json: JSON-RPC replies have statuses and shapes of their own, see docs/mcp.md.
    schema: { hide: true, body: Message }
  }, async (request, reply) => {
    endpoint ??= load()
    return await reply.send(await (await endpoint).answer(request, reply))
  })
}
