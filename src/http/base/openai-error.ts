import { type FastifyRequest } from 'fastify'
import { responsesNotStored, type ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { openAiError, type UpstreamCode } from '../../llm/upstream-error.ts'
import { isObject } from '../../template/value.ts'

/** The longest quote of a model provider's error, in characters. */
const MAX_TEXT = 2000

/** OpenAI's error types by HTTP status; the other statuses are `server_error` from 500 on, else `invalid_request_error`. */
const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error', 502: 'upstream_error' }

/** Whether a URL belongs to `/v1`, the part of the API that OpenAI's clients use. */
export function isOpenAiPath (url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** Whether a request belongs to `/v1`, the part for OpenAI's clients, also when its path is percent-encoded: `/%76%31/models`. */
export function isOpenAiRequest ({ routeOptions, url }: FastifyRequest): boolean {
  return isOpenAiPath(routeOptions.url ?? url)
}

/**
 * The error for OpenAI's routes below `/v1/responses`, such as reading a stored response: this service stores none. `undefined` for other
 * paths.
 */
export function refuseResponses (method: string, path: string): ServiceError | undefined {
  return /^\/v1\/responses(?:\/|$)/.test(path) ? responsesNotStored(method, path) : undefined
}

/** An error of the service in the form that OpenAI's clients read. */
export function openAiBody ({ message, code, statusCode, details }: ServiceError): JsonObject {
  // The code and the type of the provider's error stay, since clients tell a quota from a rate limit by them.
  const { code: theirs, type } = (details?.['upstream'] ?? {}) as UpstreamCode
  return openAiError(message, type ?? typeOf(statusCode), theirs ?? code)
}

/** The error body of a model provider in OpenAI's form: unchanged if it has that form, else quoted as the message of an OpenAI error. */
export function asOpenAiError (body: JsonObject): JsonObject {
  if (isObject((body['error'] ?? null) as Json)) return body
  return openAiError(stringifyJson(body).slice(0, MAX_TEXT), 'invalid_request_error', null)
}

function typeOf (status: number): string {
  if (Object.hasOwn(TYPES, status)) return TYPES[status] as string
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
