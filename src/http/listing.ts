import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type ListOptions } from './openapi/schemas.ts'
import { toPath } from '../store/keys.ts'

/**
 * Answers one page of a listing and, when there is more, its next page in the Link header (RFC 8288).
 *
 * @param ids sorted; at least one more than the limit when there is a next page
 * @param summarise what an id stands for with `detail=true`
 */
export function sendPage (request: FastifyRequest, reply: FastifyReply, query: ListOptions, ids: readonly string[], summarise: (id: string) => unknown): FastifyReply {
  return sendRows(request, reply, query.limit, ids, id => id, query.detail ? summarise : id => id)
}

/**
 * The same for any rows.
 * @param rows in order; one more than the limit when there is a next page
 * @param cursor what `after` is for the page that follows a row
 * @param show what a row is answered as
 */
export function sendRows<T> (request: FastifyRequest, reply: FastifyReply, limit: number, rows: readonly T[], cursor: (row: T) => string, show: (row: T) => unknown = row => row): FastifyReply {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  if (rows.length > page.length && last !== undefined) reply.header('link', `<${nextUrl(request.url, cursor(last))}>; rel="next"`)
  return reply.send(page.map(show))
}

/** Ids of a map that begin with the prefix and come after the given one, sorted, one more than the limit. */
export function selectIds<T> (things: ReadonlyMap<string, T>, query: ListOptions, accepts: (thing: T) => boolean): string[] {
  const prefix = toPath(query.prefix ?? '')
  const after = query.after ?? ''
  const ids: string[] = []
  for (const [id, thing] of things) if (id.startsWith(prefix) && id > after && accepts(thing)) ids.push(id)
  return ids.sort().slice(0, query.limit + 1)
}

function nextUrl (url: string, after: string): string {
  // Not `split`: a value may have a `?` of its own.
  const end = url.indexOf('?')
  const parameters = new URLSearchParams(end === -1 ? '' : url.slice(end + 1))
  parameters.set('after', after)
  return `${end === -1 ? url : url.slice(0, end)}?${parameters.toString()}`
}
