import { contentHash } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type DefinitionKind, isDefinitionKind } from '../../registry/kind.ts'
import { type Definition } from '../../registry/kinds/definition/definition.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { findDefinition } from '../../service/find-definition.ts'
import { type App } from '../app-types.ts'
import { entityTag, ListedTag } from '../entity-tags.ts'
import { type KindRoute, withArticle } from '../kind-routes.ts'
import { selectIds, sendPage } from '../listing.ts'
import { idParameters, ListQuery, listReply, replies } from '../openapi/schemas.ts'

const Summary = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: 'direct: it has a key of its own; extension: an extension brings it' }),
  description: Type.Optional(Type.Unknown()),
  etag: ListedTag
})

const Reply = Type.Object({
  id: Type.String(),
  origin: Summary.properties.origin,
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
}, { additionalProperties: true, description: 'The definition as it is registered, with what was noticed' })

/** What is registered of kinds whose entries stand for themselves. */
export function definitionRoutes (app: App, kindRoutes: readonly KindRoute[]): void {
  for (const route of kindRoutes) {
    if (isDefinitionKind(route.kind)) definitionRoute(app, route.kind, route)
  }
}

function definitionRoute (app: App, kind: DefinitionKind, { path, name, example }: KindRoute): void {
  app.get(`/api/${kind.name}`, {
    config: { role: 'read', orRole: 'run' },
    schema: { tags: ['Registry'], operationId: `list${name}s`, summary: `List ${kind.name}`, querystring: ListQuery, response: replies(listReply(Summary), 400) }
  }, (request, reply) => {
    const all = definitionsOf(request.generation, kind)
    return sendPage(request, reply, request.query, selectIds(all, request.query, () => true), id => summarise(all.get(id) as Definition))
  })

  app.get(`/api/${path}/:id`, {
    config: { role: 'read', orRole: 'run' },
    schema: { tags: ['Registry'], operationId: `get${name}`, summary: `Get ${withArticle(kind)}`, params: idParameters(example.id), response: replies(Reply, 400, 404) }
  }, (request, reply) => {
    const { id, source, origin, diagnostics } = findDefinition(request.generation, kind, request.params.id)
    return reply.header('etag', entityTag(contentHash(source))).send({ ...source, id, origin, diagnostics })
  })
}

function summarise ({ id, origin, source }: Definition) {
  return { id, origin, description: source['description'], etag: origin === 'direct' ? entityTag(contentHash(source)) : undefined }
}
