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

/** How often a request is sent again that an overloaded service has refused, and the pause before, in ms. */
const [RETRIES, PAUSE] = [3, 1000]

/** Sends a request with the token, and has one asked for where it is refused. What was refused before it was begun is sent again. */
export async function send (request: Request): Promise<Response> {
  const token = currentToken()
  if (token !== '') request.headers.set('authorization', `Bearer ${token}`)
  for (let left = RETRIES; ; left--) {
    const response = await fetch(left > 0 ? request.clone() : request)
    if (response.status !== 401 && response.status !== 503) return response
    const { code, message = 'HTTP 401' } = await response.clone().json().catch(() => ({})) as { readonly code?: string, readonly message?: string }
    if (response.status === 401) tokenRefused(message)
    if (code !== 'OVERLOADED' || left === 0) return response
    await new Promise(resolve => { setTimeout(resolve, PAUSE) })
  }
}
