import { type Registry } from '../../registry/registry.ts'
import { placed } from '../../registry/diagnostic/diagnostic-table.ts'
import { Type } from '../../base/schema-builder.ts'
import { type ListNotices } from '../../service/lint/list-notices.ts'
import { type App } from '../base/app-types.ts'
import { rowsOf } from '../base/listing.ts'
import { PageQuery, PlacedDiagnosticReply } from '../base/schemas.ts'

const EntryStatus = Type.Object({
  key: Type.Optional(Type.String({ description: 'The key in the store, for an entry that is not served as it is stored' })),
  id: Type.Optional(Type.String({ description: 'The extension, prompt or tool, for one that is listed' })),
  cursor: Type.String({ description: 'Its place in this listing', examples: ['entries/shenma:tools:x', 'prompts/evaluator.evaluate_quality'] }),
  state: Type.String({ description: 'rejected; stale: an earlier version is served; noticed: it is served, and something is odd; of what is listed: its state, such as valid, invalid, unlinked, active, degraded' }),
  version: Type.Optional(Type.Integer({ description: 'Of a prompt that is stale: which recorded version is served' })),
  diagnostics: Type.Array(PlacedDiagnosticReply, { description: 'The first 50' })
})

/** The routes that report problems of registered entries and make the service read its store again. */
export function statusRoutes (app: App, { registry, reload, listNotices }: {
  registry: Registry,
  reload: () => Promise<void>,
  listNotices: ListNotices
}): void {
  app.get('/api/status/entries', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Status'], operationId: 'listEntryProblems', summary: 'Entries about which something was noticed, with the reasons', description: 'First what is not served as it is stored, by key; then extensions, prompts and tools, by id. The next page is in the Link header.', querystring: PageQuery, response: { 200: Type.Array(EntryStatus) } }
  }, async (request, reply) => {
    const { after = '', limit } = request.query
    const notices = await listNotices({ generation: request.generation, caller: request.caller, after, limit: limit + 1 })
    return rowsOf(request, reply, limit, notices, notice => notice.cursor).map(notice => ({ ...notice, diagnostics: notice.diagnostics.map(placed) }))
  })

  app.post('/api/status/reload', {
    config: { role: 'admin' },
    schema: { tags: ['Status'], operationId: 'reload', summary: 'Read the store now, and believe it when it is empty', response: { 200: Type.Object({ revision: Type.String(), problem: Type.Optional(Type.String()) }) } }
  }, async () => {
    await reload()
    const { problem } = registry.status()
    return { revision: registry.generation.revision, ...(problem === undefined ? {} : { problem }) }
  })
}
