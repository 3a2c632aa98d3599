import createClient from 'openapi-fetch'
import type { paths } from '../../.build/api.d.ts'
import { ApiError } from './api-error.ts'
import type { Tagged } from './tagged.ts'
import { currentToken, tokenGone, tokenRefused } from './token.ts'

/** The client of the service's API. Its types are made from openapi.json, so a call that the API does not have is an error of types. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: request => send(inTime(request)) })

/** How long a reply is waited for that changes nothing, in ms: where a network drops what is on its way, a browser would wait for minutes. */
const LONGEST_READ = 20_000

function inTime (request: Request): Request {
  return request.method === 'GET' ? new Request(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(LONGEST_READ)]) }) : request
}

/** Waits for a call of the API. @returns the value of the reply @throws ApiError when the service refuses the call */
export async function take<T> (call: Promise<{ readonly data?: T, readonly error?: unknown, readonly response: Response }>): Promise<T> {
  return (await takeTagged(call)).value
}

/** Waits for a call of the API. @returns the value and the entity tag of the reply @throws ApiError when the service refuses the call */
export async function takeTagged<T> (call: Promise<{ readonly data?: T, readonly error?: unknown, readonly response: Response }>): Promise<Tagged<T>> {
  const { data, error, response } = await call
  if (!response.ok) throw new ApiError(response.status, error)
  return { value: data as T, tag: response.headers.get('etag') ?? undefined }
}

/** One page of a listing, and the value of `after` that requests the next page; `undefined` on the last page. */
export interface Page<T> {
  readonly rows: readonly T[]
  readonly next: string | undefined
}

/** Waits for one page of a listing; the reply's `Link` header says where the next page begins. @throws ApiError when the service refuses the call */
export async function takePage<T> (call: Promise<{ readonly data?: unknown, readonly error?: unknown, readonly response: Response }>): Promise<Page<T>> {
  const { data, error, response } = await call
  if (!response.ok) throw new ApiError(response.status, error)
  const [, next] = /<([^<>]+)>;\s*rel="?next/.exec(response.headers.get('link') ?? '') ?? []
  return { rows: data as readonly T[], next: next === undefined ? undefined : new URL(next, location.origin).searchParams.get('after') ?? undefined }
}

/** How many times a request is sent again that an overloaded service has refused, and the pause before each time, in ms. */
const [RETRIES, PAUSE] = [3, 1000]

/**
 * Sends a request with the caller's token. If the service refuses the token, it is replaced, or the user is asked for another one. A request that an
 * overloaded service did not begin is sent again.
 */
export async function send (request: Request): Promise<Response> {
  for (let left = RETRIES; ; left--) {
    const token = currentToken()
    if (token !== '') request.headers.set('authorization', `Bearer ${token}`)
    const response = await fetch(left > 0 ? request.clone() : request)
    if (![401, 403, 503].includes(response.status)) return response
    const { code = '', message = 'HTTP 401' } = await response.clone().json().catch(() => ({})) as { readonly code?: string, readonly message?: string }
    if (code === 'IDENTITY_UNLISTED') tokenRefused(message, code)
    if (response.status === 401 && await tokenGone(message, code, token) && left > 0) continue
    if (!['OVERLOADED', 'IDENTITY_PROVIDER_AWAY'].includes(code) || left === 0) return response
    await new Promise(resolve => { setTimeout(resolve, PAUSE) })
  }
}
