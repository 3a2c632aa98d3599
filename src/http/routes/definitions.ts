import { contentHash } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type DefinitionKind, isDefinitionKind } from '../../registry/kinds/kind.ts'
import { type Definition } from '../../registry/kinds/definition.ts'
import { definitionsOf } from '../../registry/generation/offered.ts'
import { type Registry } from '../../registry/registry.ts'
import { findDefinition } from '../../service/find-definition.ts'
import { type App } from '../base/app-types.ts'
import { entityTag, ListedStored, ListedTag } from '../base/entity-tags.ts'
import { type KindRoute, withArticle } from '../kinds/kind-routes.ts'
import { selectIds, pageOf } from '../base/listing.ts'
import { idParameters, ListQuery, listReply } from '../base/schemas.ts'

const Summary = Type.Object({
  id: Type.String(),
  origin: Type.String({ description: 'direct: it has a key of its own; extension: an extension brings it' }),
  description: Type.Optional(Type.Unknown()),
  etag: ListedTag,
  stored: ListedStored
})

const Reply = Type.Object({
  id: Type.String(),
  origin: Summary.properties.origin,
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
}, { additionalProperties: true, description: 'The definition as it is registered, with what was noticed' })

/** The routes that list and read definitions (agents, skills, plan profiles). Other kinds among `kindRoutes` get no routes here. */
export function definitionRoutes (app: App, registry: Registry, kindRoutes: readonly KindRoute[]): void {
  for (const route of kindRoutes) {
    if (isDefinitionKind(route.kind)) definitionRoute(app, registry, route.kind, route)
  }
}

function definitionRoute (app: App, registry: Registry, kind: DefinitionKind, { path, name, example }: KindRoute): void {
  app.get(`/api/${kind.name}`, {
    config: { role: 'read', orRole: 'run', headers: ['link'] },
    schema: { tags: ['Registry'], operationId: `list${name}s`, summary: `List ${kind.name}`, querystring: ListQuery, response: { 200: listReply(Summary) } }
  }, (request, reply) => {
    const all = definitionsOf(request.generation, kind)
    return pageOf({ registry, kind }, request, reply, request.query, selectIds(all, request.query, () => true), id => summarise(all.get(id) as Definition))
  })

  app.get(`/api/${path}/:id`, {
    config: { role: 'read', orRole: 'run', fails: ['DEFINITION_NOT_FOUND'], headers: ['etag'] },
    schema: { tags: ['Registry'], operationId: `get${name}`, summary: `Get ${withArticle(kind)}`, params: idParameters(example.id), response: { 200: Reply } }
  }, (request, reply) => {
    const { id, source, origin, diagnostics } = findDefinition(request.generation, kind, request.params.id)
    reply.header('etag', entityTag(contentHash(source)))
    return { ...source, id, origin, diagnostics }
  })
}

function summarise ({ id, origin, source }: Definition) {
  return { id, origin, description: source['description'], etag: origin === 'direct' ? entityTag(contentHash(source)) : undefined }
}
