import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { Type } from '../schema/builder.ts'
import { environKind } from '../registry/kinds/environ-kind.ts'
import type { Kind } from '../registry/kinds/entry-kind.ts'
import type { Registry } from '../registry/registry.ts'
import { createSlices } from '../runtime/event-loop.ts'
import type { Precondition } from '../service/record-store.ts'
import { toPath } from '../store/store.ts'
import type { ListOptions } from './schemas.ts'

export function entityTag (tag: string): string {
  return `"${tag}"`
}

export const ListedTag = Type.Optional(Type.String({ description: 'As its ETag, for `If-Match`; left out for what has no key of its own', examples: ['"RpxSPWqS7NC1"'] }))

export const ListedStored = Type.Optional(Type.String({ description: 'Where it is not served as it is stored: `missing`, as the store has lost it and it is held, or `broken`, as what is stored cannot be used and an earlier version is served' }))

/** The pattern of one entity tag, strong or weak: https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3 */
const TAG = '(?:W/)?"[!#-~\\u0080-\\u00ff]*"'
const tags = (description: string) => Type.Optional(Type.String({
  title: 'ETags in double quotes, or *',
  pattern: `^[ \\t]*(?:\\*|${TAG}(?:[ \\t]*,[ \\t]*${TAG})*)[ \\t]*$`,
  maxLength: 1000,
  description
}))

/** RFC 9110, 13.1. */
export const ConditionalHeaders = Type.Object({
  'if-match': tags('The ETag of what may be replaced or removed, from its GET or PUT, with its quotes: `"RpxSPWqS7NC1"`; `*` for anything that is there'),
  'if-none-match': tags('`*`: only when nothing is there')
})

export function readPrecondition (headers: IncomingHttpHeaders): Precondition {
  const matches = readTags(headers['if-match'])
  const noneMatches = readTags(headers['if-none-match'])
  return { matches, noneMatches }
}

/** Weak tags count as strong ones: a tag stands for content here, and proxies that compress make strong tags weak. */
function readTags (value: string | undefined): readonly string[] | 'any' | undefined {
  if (value === undefined) return undefined
  if (value.trim() === '*') return 'any'
  return Array.from(value.matchAll(/"([^"]*)"/g), ([, tag]) => tag as string)
}

interface Headed { header (name: string, value: string): unknown }

/** The next page's URL is in the Link header (RFC 8288). @param ids sorted; one more than the limit when there is a next page */
export async function pageOf<S extends { readonly id: string, readonly etag: string | undefined }> (
  { registry, kind }: { readonly registry: Pick<Registry, 'unstored'>, readonly kind: Kind },
  request: FastifyRequest,
  reply: Headed,
  query: ListOptions,
  ids: readonly string[],
  summarise: (id: string) => S
): Promise<string[] | Array<S & { stored?: string | undefined }>> {
  const page = rowsOf(request, reply, query.limit, ids, id => id)
  if (!query.detail) return page
  const rows = page.map(summarise)
  const states = await registry.unstored(kind, rows.filter(({ etag }) => etag !== undefined || kind === environKind).map(({ id }) => id))
  return states.size === 0 ? rows : rows.map(row => ({ ...row, stored: states.get(row.id) }))
}

/** The next page's URL is in the Link header (RFC 8288). @param rows one more than the limit when there is a next page */
export function rowsOf<T> (request: FastifyRequest, reply: Headed, limit: number, rows: readonly T[], cursor: (row: T) => string): T[] {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (rows.length > page.length && last !== undefined) reply.header('link', `<${nextUrl(request.url, cursor(last))}>; rel="next"`)
  return page
}

/** Sorted; one more than the limit, to show that there is a next page. In slices, since prompts are linked when they are looked at. */
export async function selectIds<T> (
  things: ReadonlyMap<string, T>,
  query: { readonly prefix?: string | undefined, readonly after?: string | undefined, readonly limit: number },
  accepts?: (thing: T) => boolean
): Promise<string[]> {
  const prefix = toPath(query.prefix ?? '')
  const after = query.after ?? ''
  const slices = createSlices()
  const ids: string[] = []
  for (const id of [...things.keys()].filter(each => each.startsWith(prefix) && each > after).sort()) {
    if (accepts === undefined || accepts(things.get(id) as T)) ids.push(id)
    if (ids.length > query.limit) break
    if (slices.isDue()) await slices.pause()
  }
  return ids
}

function nextUrl (url: string, after: string): string {
  // Not `split('?')`: a parameter's value can contain a `?`.
  const end = url.indexOf('?')
  const parameters = new URLSearchParams(end === -1 ? '' : url.slice(end + 1))
  parameters.set('after', after)
  return `${end === -1 ? url : url.slice(0, end)}?${parameters.toString()}`
}
