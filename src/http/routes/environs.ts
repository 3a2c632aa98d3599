import { visibleEnvirons, type VisibleEnvirons } from '../../access/views.ts'
import { contentHash, isJsonObject, type Json, stringifyJson } from '../../base/json.ts'
import { isSensitive, REDACTED } from '../../base/redact.ts'
import { environKind } from '../../registry/kinds/environ-kind.ts'
import { Type } from '../../schema/builder.ts'
import { timeLimit } from '../../runtime/deadline.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { pathToKey, toPath } from '../../store/store.ts'
import type { Service } from '../../service.ts'
import { type App } from '../app.ts'
import { entityTag, ListedStored, ListedTag, pageOf } from '../resource.ts'
import { EnvironId, ListQuery, listReply, oneOf } from '../schemas.ts'

/** In characters. */
const MAX_EXCERPT = 200

const EnvironSummary = Type.Object({
  id: Type.String(),
  key: Type.String({ description: 'The key in the store' }),
  etag: ListedTag,
  stored: ListedStored,
  value: Type.Optional(Type.Object({
    type: oneOf(['string', 'number', 'boolean', 'null', 'array', 'object'], { description: 'Of JSON' }),
    excerpt: Type.String({ description: `The first ${MAX_EXCERPT} characters, of a text as it is, of others of its JSON; \`${REDACTED}\` where its name, or that of a member, is one of a secret` }),
    length: Type.Integer({ description: 'How many characters there are; the excerpt has fewer where it is cut' })
  }, { description: 'Left out for what has variables below it' })),
  users: Type.Optional(Type.Integer({ description: 'With `users`: how many rows its `used-by` has' }))
})

const EnvironListQuery = Type.Object({
  ...ListQuery.properties,
  users: Type.Boolean({ default: false, description: 'With `detail`: also in how many prompts each is used' })
})

/** Values read at a time for the tags of a listing; each batch is dropped from memory before the next. */
const BATCH = 100

/** In ms. */
const PATIENCE = 10_000

export function environRoutes (app: App, { registry, readEnviron, countEnvironUsers }: Pick<Service, 'registry' | 'readEnviron' | 'countEnvironUsers'>): void {
  const { environs } = registry
  app.get('/api/environs', {
    config: { role: 'read', headers: ['link'], fails: ['STORE_UNAVAILABLE'] },
    schema: { tags: ['Registry'], operationId: 'listEnvirons', summary: 'List shared variables', querystring: EnvironListQuery, response: { 200: listReply(EnvironSummary) } }
  }, async (request, reply) => {
    const { query, generation, caller } = request
    const visible = visibleEnvirons(environs, caller)
    const ids = visible.index.page(toPath(query.prefix ?? ''), query.after ?? '', query.limit + 1)
    const page = query.detail ? ids.slice(0, query.limit) : []
    const values = await readValues(visible, page, () => reply.raw.destroyed)
    const users = query.users && query.detail ? await countEnvironUsers({ generation, caller, ids: page }) : undefined
    return await pageOf({ registry, kind: environKind }, request, reply, query, ids, id => {
      const { etag, value } = values.get(id) ?? {}
      return { id, key: pathToKey(id, environs.prefix), etag, value, users: users?.get(id) }
    })
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
async function readValues (environs: VisibleEnvirons, ids: readonly string[], isGone: () => boolean) {
  const values = new Map<string, { readonly etag: string, readonly value: ReturnType<typeof excerptOf> }>()
  const slices = createSlices()
  const single = ids.filter(id => !environs.hasBelow(id))
  for (let start = 0; start < single.length && !isGone(); start += BATCH) {
    const batch = single.slice(start, start + BATCH)
    const fetched = await environs.fetch(batch.filter(id => environs.cached(id) === undefined), timeLimit(undefined, PATIENCE))
    for (const id of batch) {
      const known = fetched.get(id) ?? environs.cached(id)
      if (known !== undefined) values.set(id, { etag: entityTag(contentHash(known.value)), value: excerptOf(id, known.value) })
      if (slices.isDue()) await slices.pause()
    }
  }
  return values
}

function excerptOf (id: string, value: Json) {
  const text = typeof value === 'string' ? value : stringifyJson(value)
  const isHidden = isSensitive(id.slice(id.lastIndexOf('.') + 1)) || hasSensitiveName(value)
  return { type: typeOf(value), excerpt: isHidden ? REDACTED : firstOf(text), length: text.length }
}

function hasSensitiveName (value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasSensitiveName)
  return isJsonObject(value) && Object.entries(value).some(([name, member]) => isSensitive(name) || hasSensitiveName(member))
}

/** A pair of surrogates is not cut in two. */
function firstOf (text: string): string {
  return text.slice(0, MAX_EXCERPT).replace(/[\ud800-\udbff]$/, '')
}

function typeOf (value: Json): 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object' {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' || type === 'boolean' || type === 'object' ? type : 'number'
}
