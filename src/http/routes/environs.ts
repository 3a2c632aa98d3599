import { visibleEnvirons } from '../../access/environ-view.ts'
import { contentHash, stringifyJson } from '../../base/json.ts'
import { type Environs } from '../../registry/kinds/environ/environs.ts'
import { Type } from '../../base/schema-builder.ts'
import { pathToKey, toPath } from '../../store/keys.ts'
import { type ReadEnviron } from '../../service/render/read-environ.ts'
import { type App } from '../app-types.ts'
import { entityTag } from '../entity-tags.ts'
import { sendPage } from '../listing.ts'
import { EnvironId, ListQuery, listReply, replies } from '../openapi/schemas.ts'

const EnvironSummary = Type.Object({ id: Type.String(), key: Type.String({ description: 'The key in the store' }) })

/** What shared variables are registered. */
export function environRoutes (app: App, { environs, readEnviron }: { environs: Environs, readEnviron: ReadEnviron }): void {
  app.get('/api/environs', {
    config: { role: 'read' },
    schema: { tags: ['Registry'], operationId: 'listEnvirons', summary: 'List shared variables', querystring: ListQuery, response: replies(listReply(EnvironSummary), 400) }
  }, (request, reply) => {
    const { query } = request
    const ids = visibleEnvirons(environs, request.caller).index.page(toPath(query.prefix ?? ''), query.after ?? '', query.limit + 1)
    return sendPage(request, reply, query, ids, id => ({ id, key: pathToKey(id, environs.prefix) }))
  })

  app.get('/api/environs/:id', {
    config: { role: 'read' },
    schema: { tags: ['Registry'], operationId: 'getEnviron', summary: 'Get the value of a shared variable, or all below a path', params: EnvironId, response: replies(Type.Unknown({ description: 'The value as JSON' }), 400, 404, 503) }
  }, async (request, reply) => {
    const { generation, caller, params: { id } } = request
    const value = await readEnviron({ generation, caller, id })
    const name = toPath(id)
    // All below a path is the content of several keys.
    if (!visibleEnvirons(environs, caller).hasBelow(name)) reply.header('etag', entityTag(contentHash(value)))
    // Fastify sends a string as it is; here it is a JSON value and goes in quotes.
    return reply.type('application/json; charset=utf-8').send(stringifyJson(value))
  })
}
