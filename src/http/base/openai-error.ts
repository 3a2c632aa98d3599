import { type FastifyRequest } from 'fastify'
import { responsesNotStored, type ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { openAiError } from '../../llm/upstream-error.ts'
import { isObject } from '../../template/value.ts'

/** The upstream's error text is shown up to this length, in characters. */
const MAX_TEXT = 2000

/** OpenAI's words for what a status means; others are the caller's or the server's fault. */
const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error', 502: 'upstream_error' }

/** Whether a URL belongs to the part of the API that OpenAI's clients use. */
export function isOpenAiPath (url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** The same of a request, however its path is written: `/%76%31/models` leads there too. */
export function isOpenAiRequest ({ routeOptions, url }: FastifyRequest): boolean {
  return isOpenAiPath(routeOptions.url ?? url)
}

/** Why there is nothing at a path of OpenAI's API below `/v1/responses`; `undefined` of others. */
export function refuseResponses (method: string, path: string): ServiceError | undefined {
  return /^\/v1\/responses(?:\/|$)/.test(path) ? responsesNotStored(method, path) : undefined
}

/** An error of the service in OpenAI's shape. */
export function openAiBody ({ message, code, statusCode }: ServiceError): JsonObject {
  return openAiError(message, typeOf(statusCode), code)
}

/** An upstream's error body: as it is when it has OpenAI's shape, else as the message of one that has. */
export function asOpenAiError (body: JsonObject): JsonObject {
  if (isObject((body['error'] ?? null) as Json)) return body
  return openAiError(stringifyJson(body).slice(0, MAX_TEXT), 'invalid_request_error', null)
}

function typeOf (status: number): string {
  if (Object.hasOwn(TYPES, status)) return TYPES[status] as string
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
