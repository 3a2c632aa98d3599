import { visibleEnvirons, type VisibleEnvirons } from '../../access/views.ts'
import { contentHash, stringifyJson } from '../../base/json.ts'
import { environKind } from '../../registry/kinds/environ-kind.ts'
import { Type } from '../../schema/builder.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { pathToKey, toPath } from '../../store/store.ts'
import type { Service } from '../../service.ts'
import { type App } from '../app.ts'
import { entityTag, ListedStored, ListedTag, pageOf } from '../resource.ts'
import { EnvironId, ListQuery, listReply } from '../schemas.ts'

const EnvironSummary = Type.Object({ id: Type.String(), key: Type.String({ description: 'The key in the store' }), etag: ListedTag, stored: ListedStored })

/** Values read at a time for the tags of a listing; each batch is dropped from memory before the next. */
const BATCH = 100

/** In ms. */
const PATIENCE = 10_000

export function environRoutes (app: App, { registry, readEnviron }: Pick<Service, 'registry' | 'readEnviron'>): void {
  const { environs } = registry
  app.get('/api/environs', {
    config: { role: 'read', headers: ['link'], fails: ['STORE_UNAVAILABLE'] },
    schema: { tags: ['Registry'], operationId: 'listEnvirons', summary: 'List shared variables', querystring: ListQuery, response: { 200: listReply(EnvironSummary) } }
  }, async (request, reply) => {
    const { query } = request
    const visible = visibleEnvirons(environs, request.caller)
    const ids = visible.index.page(toPath(query.prefix ?? ''), query.after ?? '', query.limit + 1)
    const tags = query.detail ? await readTags(visible, ids.slice(0, query.limit), () => reply.raw.destroyed) : new Map<string, string>()
    return await pageOf({ registry, kind: environKind }, request, reply, query, ids, id => ({ id, key: pathToKey(id, environs.prefix), etag: tags.get(id) }))
  })

  app.get('/api/environs/:id', {
    config: { role: 'read', fails: ['ENVIRON_NOT_FOUND', 'ENVIRON_INVALID'], headers: ['etag'] },
    schema: { tags: ['Registry'], operationId: 'getEnviron', summary: 'Get the value of a shared variable, or all below a path', params: EnvironId, response: { 200: Type.Unknown({ description: 'The value as JSON' }) } }
  }, async (request, reply) => {
    const { generation, caller, params: { id } } = request
    const value = await readEnviron({ generation, caller, id })
    const name = toPath(id)
    // With names such as `a.b`, the value of `a` comes from several keys of the store, and has no entity tag.
    if (!visibleEnvirons(environs, caller).hasBelow(name)) reply.header('etag', entityTag(contentHash(value)))
    // Fastify would send a string without quotes.
    return reply.type('application/json; charset=utf-8').send(stringifyJson(value))
  })
}

/** @throws STORE_UNAVAILABLE */
async function readTags (environs: VisibleEnvirons, ids: readonly string[], isGone: () => boolean): Promise<ReadonlyMap<string, string>> {
  const tags = new Map<string, string>()
  const slices = createSlices()
  const single = ids.filter(id => !environs.hasBelow(id))
  for (let start = 0; start < single.length && !isGone(); start += BATCH) {
    const batch = single.slice(start, start + BATCH)
    const fetched = await environs.fetch(batch.filter(id => environs.cached(id) === undefined), timeLimit(undefined, PATIENCE))
    for (const id of batch) {
      const known = fetched.get(id) ?? environs.cached(id)
      if (known !== undefined) tags.set(id, entityTag(contentHash(known.value)))
      if (slices.isDue()) await slices.pause()
    }
  }
  return tags
}
