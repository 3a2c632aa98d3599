import { contentHash, type Json, type JsonObject } from '../../base/json.ts'
import { toAbortSignal } from '../../runtime/deadline.ts'
import { type Tool } from '../../registry/generation.ts'
import { toolKind } from '../../registry/kinds/tool-kind.ts'
import { Type } from '../../schema/builder.ts'
import { findTool } from '../../service/try-tool.ts'
import { NOTHING } from '../../template/value.ts'
import { withoutCredentials } from '../../tool/definition.ts'
import { type ToolOutcome } from '../../tool/registered-tool.ts'
import type { Service } from '../../service.ts'
import { type App } from '../app.ts'
import { abortWhenGone } from '../send-reply.ts'
import { entityTag, ListedStored, ListedTag, pageOf, selectIds } from '../resource.ts'
import { listReply, SupportsListQuery, ToolId } from '../schemas.ts'

const ToolSummary = Type.Object({
  id: Type.String(),
  function: Type.String({ description: 'Its name in templates' }),
  type: Type.String({ description: 'restful, grpc or mcp' }),
  supports: Type.Array(Type.String()),
  description: Type.String(),
  etag: ListedTag,
  stored: ListedStored
})

const ToolStatisticsReply = Type.Object({
  calls: Type.Integer(),
  cached: Type.Integer({ description: 'Calls that were answered from the result cache' }),
  errors: Type.Integer(),
  lastError: Type.Optional(Type.Object({ code: Type.String(), message: Type.String(), at: Type.String() })),
  latency: Type.Optional(Type.Object({ mean: Type.Number(), p50: Type.Number(), p99: Type.Number(), max: Type.Number() }, { description: 'Of calls that were made, in ms' }))
}, { description: 'What calling it has been like since this process knows it' })

const BreakerReply = Type.Object({
  state: Type.String({ description: 'closed: it is called; open: it is not; half-open: the next call finds out whether it works again' }),
  failures: Type.Integer({ description: 'Of the last calls, how many failed' }),
  calls: Type.Integer({ description: 'How many of the last calls are looked at' })
}, { description: 'Whether it is called at all, as this process knows; left out for a tool without a breaker' })

const ToolReply = Type.Object({
  id: Type.String(),
  function: ToolSummary.properties.function,
  registration: Type.Object({}, { additionalProperties: true, description: 'The tool as it is registered, and nothing else; a credential in clear is shown as [secret]' }),
  diagnostics: Type.Array(Type.Ref('Diagnostic')),
  preparation: Type.Optional(Type.String({ description: 'preparing, ready or failed: whether what its calls need, such as a connection, is there' })),
  breaker: Type.Optional(BreakerReply),
  statistics: Type.Optional(ToolStatisticsReply)
}, { additionalProperties: true, description: 'The tool as it is registered, with its function name, what was noticed, and how it does; a credential in clear is shown as [secret]' })

const CallBody = Type.Union([
  Type.Object({
    arguments: Type.Optional(Type.Union([Type.Object({}, { additionalProperties: true }), Type.Array(Type.Unknown(), { maxItems: 1000 }), Type.Null()], { description: 'By name, or a list in the order that the tool declares' }))
  }, { additionalProperties: false }),
  Type.Null()
], { examples: [{ arguments: { file: 'ledger/book.go' } }] })

const CallReply = Type.Object({
  value: Type.Unknown({ description: 'The result, or what stands in for it' }),
  outcome: Type.String({ description: 'ok, cached or failed' }),
  durationMs: Type.Number(),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }, { description: 'Why it failed' }))
})

export function toolRoutes (app: App, { registry, tryTool, toolStates }: Pick<Service, 'registry' | 'tryTool' | 'toolStates'>): void {
  app.get('/api/tools', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Registry'], operationId: 'listTools', summary: 'List tools', querystring: SupportsListQuery, response: { 200: listReply(ToolSummary) } }
  }, async (request, reply) => {
    const { tools } = request.generation
    const { query } = request
    const ids = await selectIds(tools, query, ({ definition }) => query.supports === undefined || definition.supports.includes(query.supports))
    return await pageOf({ registry, kind: toolKind }, request, reply, query, ids, id => summarise(tools.get(id) as Tool))
  })

  app.get('/api/tools/:id', {
    config: { role: 'read', fails: ['TOOL_NOT_FOUND'], headers: ['etag'] },
    schema: { tags: ['Registry'], operationId: 'getTool', summary: 'Get a tool', params: ToolId, response: { 200: ToolReply } }
  }, (request, reply) => {
    const { id, definition, diagnostics, callable, isRegistered } = findTool(request.generation, request.params.id)
    const preparation = callable?.state() ?? toolStates().get(id)
    // A tool of an MCP server has no key of its own in the store, and so no entity tag.
    if (isRegistered) reply.header('etag', entityTag(contentHash(definition.registration)))
    const registration = withoutCredentials(definition.registration, definition.headers)
    return {
      ...registration,
      id,
      function: definition.name,
      registration,
      diagnostics: diagnostics(),
      preparation,
      breaker: callable?.breakerState(),
      statistics: callable?.statistics()
    }
  })

  app.post('/api/tools/:id/call', {
    config: { role: 'write', fails: ['ARGUMENTS_INVALID', 'TOOL_NOT_FOUND', 'TOOL_NOT_CALLABLE', 'INTERNAL'] },
    schema: {
      tags: ['Tools'],
      operationId: 'callTool',
      summary: 'Call a tool by hand',
      description: 'Under the same policy as in a template, for at most 10 s. A call that fails answers 200 with `outcome: failed` and what would stand in for it.',
      params: ToolId,
      body: CallBody,
      response: { 200: CallReply }
    }
  }, async (request, reply) => {
    const outcome = await tryTool({
      generation: request.generation,
      id: request.params.id,
      arguments: (request.body?.arguments ?? {}) as JsonObject | readonly Json[],
      requestId: request.id,
      activity: request.activity,
      signal: toAbortSignal(abortWhenGone(reply))
    })
    return describeOutcome(outcome)
  })
}

function summarise ({ id, definition, isRegistered }: Tool) {
  return {
    id,
    function: definition.name,
    type: definition.type,
    supports: definition.supports,
    description: definition.description,
    etag: isRegistered ? entityTag(contentHash(definition.registration)) : undefined
  }
}

function describeOutcome ({ value, outcome, durationMs, error }: ToolOutcome) {
  return {
    value: value === NOTHING ? null : value,
    outcome,
    durationMs: Math.round(durationMs * 1000) / 1000,
    error: error === undefined ? undefined : { code: error.code, message: error.message }
  }
}
