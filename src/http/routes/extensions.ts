import { contentHash } from '../../base/json.ts'
import { type Extension } from '../../registry/generation.ts'
import { extensionKind } from '../../registry/kinds/extension-kind.ts'
import { type Registry } from '../../registry/registry.ts'
import { Type } from '../../schema/builder.ts'
import { missingExtension } from '../../service/choose-prompt.ts'
import { type App } from '../app.ts'
import { entityTag, ListedStored, ListedTag, pageOf, selectIds } from '../resource.ts'
import { ExtensionId, listReply, SupportsListQuery } from '../schemas.ts'
import { toPath } from '../../store/store.ts'

const ExtensionSummary = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  version: Type.Optional(Type.String()),
  displayName: Type.Optional(Type.Unknown()),
  description: Type.Optional(Type.Unknown()),
  state: Type.String({ description: 'active, degraded, incompatible or inactive' }),
  prompts: Type.Array(Type.String(), { description: 'Names of its prompts' }),
  etag: ListedTag,
  stored: ListedStored
})

const ExtensionReply = Type.Object({
  id: Type.String(),
  state: ExtensionSummary.properties.state,
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
}, { additionalProperties: true, description: 'The extension as it is registered, with its state and what was noticed' })

const ExtensionListQuery = Type.Object({
  ...SupportsListQuery.properties,
  type: Type.String({ default: 'prompt', maxLength: 100, description: 'Extension type; `all` for every type' })
})

export function extensionRoutes (app: App, registry: Registry): void {
  app.get('/api/extensions', {
    config: { role: 'read', headers: ['link'] },
    schema: { tags: ['Registry'], operationId: 'listExtensions', summary: 'List extensions', querystring: ExtensionListQuery, response: { 200: listReply(ExtensionSummary) } }
  }, async (request, reply) => {
    const { extensions } = request.generation
    const { query } = request
    const ids = await selectIds(extensions, query, ({ definition }) =>
      (query.type === 'all' || definition.type === query.type) && (query.supports === undefined || definition.supports.includes(query.supports)))
    return await pageOf({ registry, kind: extensionKind }, request, reply, query, ids, id => summarise(extensions.get(id) as Extension))
  })

  app.get('/api/extensions/:id', {
    config: { role: 'read', fails: ['EXTENSION_NOT_FOUND'], headers: ['etag'] },
    schema: { tags: ['Registry'], operationId: 'getExtension', summary: 'Get an extension', params: ExtensionId, response: { 200: ExtensionReply } }
  }, (request, reply) => {
    const id = toPath(request.params.id)
    const extension = request.generation.extensions.get(id)
    if (extension === undefined) throw missingExtension(request.generation, request.params.id)
    const { source } = extension.definition
    reply.header('etag', entityTag(contentHash(source)))
    return { ...source, id, state: extension.state, diagnostics: extension.diagnostics }
  })
}

function summarise ({ id, definition, state }: Extension) {
  const { displayName, description } = definition.source
  return {
    id,
    name: definition.name,
    type: definition.type,
    version: definition.version,
    displayName,
    description,
    state,
    prompts: definition.prompts.map(prompt => prompt['name']),
    etag: entityTag(contentHash(definition.source))
  }
}
