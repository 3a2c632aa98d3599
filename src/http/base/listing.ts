import { type FastifyRequest } from 'fastify'
import { type ListOptions } from './schemas.ts'
import { environKind } from '../../registry/kinds/environ/environ-kind.ts'
import { type Kind } from '../../registry/kinds/kind.ts'
import { type Registry } from '../../registry/registry.ts'
import { toPath } from '../../store/keys.ts'

/** The part of a reply that paging needs: a function that sets a header. */
interface Headed { header (name: string, value: string): unknown }

/**
 * Gives one page of a listing of ids, or of summaries if the client wants details: those of keys of their own say where they are not served as they are
 * stored. When there is more, the URL of the next page is in the Link header (RFC 8288).
 * @param ids sorted; at least one more than the limit when there is a next page
 * @param summarise makes the summary of an id, for `detail=true`
 */
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

/**
 * Gives one page of any rows. When there are more rows, the URL of the next page is in the Link header (RFC 8288).
 * @param rows in order; one more than the limit when there is a next page
 * @param cursor gives the `after` parameter of the page that begins after a row
 */
export function rowsOf<T> (request: FastifyRequest, reply: Headed, limit: number, rows: readonly T[], cursor: (row: T) => string): T[] {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (rows.length > page.length && last !== undefined) reply.header('link', `<${nextUrl(request.url, cursor(last))}>; rel="next"`)
  return page
}

/**
 * The ids of a map that a listing query selects (by prefix, cursor and a filter), sorted; one more than the limit, to show that there is a
 * next page.
 */
export function selectIds<T> (
  things: ReadonlyMap<string, T>,
  query: { readonly prefix?: string | undefined, readonly after?: string | undefined, readonly limit: number },
  accepts: (thing: T) => boolean
): string[] {
  const prefix = toPath(query.prefix ?? '')
  const after = query.after ?? ''
  const ids: string[] = []
  for (const [id, thing] of things) if (id.startsWith(prefix) && id > after && accepts(thing)) ids.push(id)
  return ids.sort().slice(0, query.limit + 1)
}

function nextUrl (url: string, after: string): string {
  // The query is not separated by `split('?')`, since the value of a parameter can contain a `?`.
  const end = url.indexOf('?')
  const parameters = new URLSearchParams(end === -1 ? '' : url.slice(end + 1))
  parameters.set('after', after)
  return `${end === -1 ? url : url.slice(0, end)}?${parameters.toString()}`
}
