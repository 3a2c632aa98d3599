import { type FastifyRequest } from 'fastify'
import { responsesNotStored, type ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { openAiError } from '../../llm/upstream-error.ts'
import { isObject } from '../../template/value.ts'

/** The upstream's error text is shown up to this length, in characters. */
const MAX_TEXT = 2000

/** OpenAI's error types by HTTP status; the other statuses are `server_error` from 500 on, else `invalid_request_error`. */
const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error', 502: 'upstream_error' }

/** Whether a URL belongs to the part of the API that OpenAI's clients use. */
export function isOpenAiPath (url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** Whether a request belongs to that part of the API, even when its path is percent-encoded: `/%76%31/models`. */
export function isOpenAiRequest ({ routeOptions, url }: FastifyRequest): boolean {
  return isOpenAiPath(routeOptions.url ?? url)
}

/** The error for OpenAI's routes below `/v1/responses`, which the service does not have; `undefined` for other paths. */
export function refuseResponses (method: string, path: string): ServiceError | undefined {
  return /^\/v1\/responses(?:\/|$)/.test(path) ? responsesNotStored(method, path) : undefined
}

/** An error of the service in OpenAI's shape. */
export function openAiBody ({ message, code, statusCode }: ServiceError): JsonObject {
  return openAiError(message, typeOf(statusCode), code)
}

/** An upstream's error body in OpenAI's shape: unchanged when it has that shape, else quoted as the message of such an error. */
export function asOpenAiError (body: JsonObject): JsonObject {
  if (isObject((body['error'] ?? null) as Json)) return body
  return openAiError(stringifyJson(body).slice(0, MAX_TEXT), 'invalid_request_error', null)
}

function typeOf (status: number): string {
  if (Object.hasOwn(TYPES, status)) return TYPES[status] as string
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
