import createClient from 'openapi-fetch'
import type { paths } from '../../.build/api.d.ts'
import { ApiError } from './api-error.ts'
import { currentToken, tokenRefused } from './token.ts'

/** The API, typed by openapi.json: what it does not have is an error of types. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: request => send(request) })

/** A reply, and the tag that a later `If-Match` has to name. */
export interface Tagged<T> {
  readonly value: T
  readonly tag: string | undefined
}

/** What a call answers. @throws ApiError */
export async function take<T> (call: Promise<{ readonly data?: T, readonly error?: unknown, readonly response: Response }>): Promise<T> {
  return (await takeTagged(call)).value
}

/** The same, with the reply's entity tag. @throws ApiError */
export async function takeTagged<T> (call: Promise<{ readonly data?: T, readonly error?: unknown, readonly response: Response }>): Promise<Tagged<T>> {
  const { data, error, response } = await call
  if (!response.ok) throw new ApiError(response.status, error)
  return { value: data as T, tag: response.headers.get('etag') ?? undefined }
}

/** One page of a listing, and what gives the next one; undefined on the last. */
export interface Page<T> {
  readonly rows: readonly T[]
  readonly next: string | undefined
}

/** A listing's page, whose `Link` header says where the next one begins. @throws ApiError */
export async function takePage<T> (call: Promise<{ readonly data?: unknown, readonly error?: unknown, readonly response: Response }>): Promise<Page<T>> {
  const { data, error, response } = await call
  if (!response.ok) throw new ApiError(response.status, error)
  const [, next] = /<([^>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '') ?? []
  return { rows: data as readonly T[], next: next === undefined ? undefined : new URL(next, location.origin).searchParams.get('after') ?? undefined }
}

/** Sends a request with the token, and has one asked for where it is refused. */
export async function send (request: Request): Promise<Response> {
  const token = currentToken()
  if (token !== '') request.headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(request)
  if (response.status === 401) tokenRefused(((await response.clone().json().catch(() => ({}))) as { message?: string }).message ?? 'HTTP 401')
  return response
}
