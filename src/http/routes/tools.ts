import { Type } from 'typebox'
import { toolNotFound } from '../../errors.ts'
import { type Tool } from '../../registry/generation.ts'
import { nearMatches } from '../../registry/near-matches.ts'
import { type App } from '../app-types.ts'
import { selectIds, sendPage } from '../listing.ts'
import { IdParameters, listReply, replies, SupportsListQuery } from '../schemas.ts'

const ToolSummary = Type.Object({
  id: Type.String(),
  function: Type.String({ description: 'Its name in templates' }),
  type: Type.String({ description: 'restful, grpc or mcp' }),
  supports: Type.Array(Type.String()),
  description: Type.String()
})

const ToolReply = Type.Object({
  id: Type.String(),
  function: ToolSummary.properties.function,
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
}, { additionalProperties: true, description: 'The tool as it is registered, with its function name and what was noticed' })

/** What tools are registered (requirement C-08). */
export function toolRoutes (app: App): void {
  app.get('/api/tools', {
    schema: { tags: ['Registry'], operationId: 'listTools', summary: 'List tools', querystring: SupportsListQuery, response: replies(listReply(ToolSummary), 400) }
  }, (request, reply) => {
    const { tools } = request.generation
    const { query } = request
    const ids = selectIds(tools, query, ({ definition }) => query.supports === undefined || definition.supports.includes(query.supports))
    return sendPage(request, reply, query, ids, id => summarise(tools.get(id) as Tool))
  })

  app.get('/api/tools/:id', {
    schema: { tags: ['Registry'], operationId: 'getTool', summary: 'Get a tool', params: IdParameters, response: replies(ToolReply, 400, 404) }
  }, request => {
    const id = request.params.id.replaceAll(':', '.')
    const tool = request.generation.tools.get(id)
    if (tool === undefined) throw toolNotFound(request.params.id, nearMatches(id, request.generation.tools.keys()))
    return { ...tool.definition.registration, id, function: tool.definition.name, diagnostics: tool.diagnostics }
  })
}

function summarise ({ id, definition }: Tool) {
  return { id, function: definition.name, type: definition.type, supports: definition.supports, description: definition.description }
}
