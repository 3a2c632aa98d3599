import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  bodyTooLarge, headersTooLarge, mediaTypeUnsupported, methodNotAllowed, requestInvalid, requestTimeout, responsesNotStored, routeNearby, routeNotFound,
  ServiceError, unexpected, urlTooLong
} from '../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { nodeHttp } from '../runtime/http-modules.ts'
import { type TSchema, Type } from '../base/schema-builder.ts'
import { openAiError, type UpstreamCode, UpstreamRefusal } from '../llm/upstream-error.ts'
import { isObject } from '../template/value.ts'
import { SOCKET_PATH } from './socket/accept-sockets.ts'

/** Gives the HTTP methods for which a path has a route. */
type MethodsOf = (path: string) => readonly string[]

/**
 * Refuses requests that match no route before their bodies are read. The error names the methods that the path has or, for a path that ends
 * in `/`, the routes of the path without the `/`. If the body were read first, the reply could complain about a missing body or bad JSON
 * although the path is wrong.
 * @throws ROUTE_NOT_FOUND, METHOD_NOT_ALLOWED
 */
export function refuseUnknownRoutes (app: FastifyInstance): void {
  const methodsOf = rememberRoutes(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) done(whatIsWrong(request, methodsOf))
    // The library for WebSockets would open one at every path, and close it again.
    else if (request.ws === true && request.routeOptions.url !== SOCKET_PATH) done(routeNearby('WebSocket', pathOf(request), [`WebSocket ${SOCKET_PATH}`]))
    else done()
  })
  // The file server of /docs calls this handler for files that are missing.
  app.setNotFoundHandler(request => { throw routeNotFound(request.method, pathOf(request)) })
}

/** The path of a request as the client wrote it, without the origin of an absolute URL and without the query. */
export function pathOf ({ url }: FastifyRequest): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1)[0] ?? ''
}

function whatIsWrong (request: FastifyRequest, methodsOf: MethodsOf): ServiceError {
  const path = pathOf(request)
  const methods = methodsOf(path)
  if (methods.length > 0) return methodNotAllowed(request.method, path, methods)
  const refusal = refuseResponses(request.method, path)
  if (refusal !== undefined) return refusal
  const near = path.replace(/\/$/, '')
  const nearMethods = methodsOf(near)
  return nearMethods.length === 0
    ? routeNotFound(request.method, path)
    : routeNearby(request.method, path, nearMethods.filter(method => method !== 'HEAD').map(method => `${method} ${near}`))
}

/** Remembers the routes that are registered from now on. */
function rememberRoutes (app: FastifyInstance): MethodsOf {
  const routes: Array<{ readonly method: string, readonly pattern: RegExp }> = []
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = new RegExp(`^${url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`)
    // Preflight requests (OPTIONS) are answered for every path, whether it has a route or not.
    for (const each of [method].flat()) if (each !== 'OPTIONS') routes.push({ method: each, pattern })
  })
  return path => [...new Set(routes.filter(({ pattern }) => pattern.test(decoded(path))).map(({ method }) => method))].sort()
}

/** Decodes a path as the router does: `/%61pi` is `/api`. */
function decoded (path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** The longest quote of a model provider's error, in characters. */
const MAX_TEXT = 2000

/** OpenAI's error types by HTTP status; the other statuses are `server_error` from 500 on, else `invalid_request_error`. */
const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error', 502: 'upstream_error' }

/** Whether a URL belongs to `/v1`, the part of the API that OpenAI's clients use. */
export function isOpenAiPath (url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** Whether a request belongs to `/v1`, the part for OpenAI's clients, also when its path is percent-encoded: `/%76%31/models`. */
function isOpenAiRequest ({ routeOptions, url }: FastifyRequest): boolean {
  return isOpenAiPath(routeOptions.url ?? url)
}

/**
 * The error for OpenAI's routes below `/v1/responses`, such as reading a stored response: this service stores none. `undefined` for other
 * paths.
 */
function refuseResponses (method: string, path: string): ServiceError | undefined {
  return /^\/v1\/responses(?:\/|$)/.test(path) ? responsesNotStored(method, path) : undefined
}

/** An error of the service in the form that OpenAI's clients read. */
export function openAiBody ({ message, code, statusCode, details }: ServiceError): JsonObject {
  // The code and the type of the provider's error stay, since clients tell a quota from a rate limit by them.
  const { code: theirs, type } = (details?.['upstream'] ?? {}) as UpstreamCode
  return openAiError(message, type ?? typeOf(statusCode), theirs ?? code)
}

/** The error body of a model provider in OpenAI's form: unchanged if it has that form, else quoted as the message of an OpenAI error. */
function asOpenAiError (body: JsonObject): JsonObject {
  if (isObject((body['error'] ?? null) as Json)) return body
  return openAiError(stringifyJson(body).slice(0, MAX_TEXT), 'invalid_request_error', null)
}

function typeOf (status: number): string {
  if (Object.hasOwn(TYPES, status)) return TYPES[status] as string
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/**
 * Whether a path belongs to the routes that run skills, whose replies are wrapped in `{ success, data }`. The routes below
 * `/api/skills/definitions`, which read the definitions of skills, do not belong to them.
 */
function isSkillPath (path: string): boolean {
  return /^\/api\/skills\/(?!definitions(?:[/?]|$))/.test(path)
}

/** The schema of an error of the routes that run skills. */
export const SkillErrorReply = Type.Object({
  success: Type.Literal(false),
  error: Type.String({ description: 'What went wrong, in the words of the protocol' }),
  code: Type.String({ description: 'Stable code for programs; docs/errors.md has all of them', examples: ['SESSION_NOT_FOUND'] }),
  requestId: Type.String({ description: 'The x-request-id of this request' }),
  details: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Facts for programs: near matches, missing parameters, the approval that waits now' }))
}, { $id: 'SkillError', title: 'SkillError' })

/**
 * The messages of some errors, by code, that clients of the routes that run skills expect. The rest of the API has other messages for these
 * errors.
 */
const WORDS: Readonly<Record<string, (details: ServiceError['details']) => string>> = {
  SESSION_NOT_FOUND: () => 'Skill session not found',
  TARGET_NOT_FOUND: () => 'Terminal session not found',
  TERMINAL_NOT_FOUND: () => 'Terminal session not found',
  TARGETS_NOT_OFFERED: () => 'No SSH connection available',
  DEFINITION_NOT_FOUND: details => `Skill "${String(details?.['id'])}" not found${reasonOf(details)}`
}

/** The reasons why a skill cannot be used although it is registered, as the end of a message. */
function reasonOf (details: ServiceError['details']): string {
  const { problems = [] } = (details ?? {}) as { readonly problems?: readonly string[] }
  return problems.length === 0 ? '' : `: ${problems.join('; ')}`
}

/** The message of an error as clients of the routes that run skills expect it. */
export function skillErrorText ({ code, message, details }: ServiceError): string {
  return WORDS[code]?.(details) ?? message
}

/** An error as the body of a reply of the routes that run skills. */
function skillErrorBody (error: ServiceError, requestId: string): JsonObject {
  const { code, details } = error
  return { success: false, error: skillErrorText(error), code, requestId, ...(details === undefined ? {} : { details: details as JsonObject }) }
}

/** Makes the body of a successful reply, as the routes that run skills have it: with the data in the member `data`. */
export function successWith<T> (data: T) {
  return { success: true as const, data }
}

/** Makes the schema of a successful reply of a route that runs a skill. @param data the schema of the data in that reply */
export function skillReply<S extends TSchema> (data: S) {
  return { 200: Type.Object({ success: Type.Literal(true), data }) }
}

/** Makes the reply schemas of a route that continues a skill: for 200, and for 202, which says that the skill still runs. */
export function skillTurn<S extends TSchema> (data: S) {
  const success = Type.Object({ success: Type.Literal(true), data })
  return { 200: success, 202: success }
}

/** The form of error replies in a part of the API whose clients expect another form than the service's own. */
interface ErrorShape {
  /** The name of the error's schema in the API's description. */
  readonly schema: string
  /** The ending that the API's description adds to the name of each example error in this form. */
  readonly suffix: string
  readonly isFor: (path: string) => boolean
  readonly bodyOf: (error: ServiceError, requestId: string) => JsonObject
}

const SHAPES: readonly ErrorShape[] = [
  { schema: 'OpenAiError', suffix: 'OPENAI', isFor: isOpenAiPath, bodyOf: openAiBody },
  { schema: 'SkillError', suffix: 'SKILL', isFor: isSkillPath, bodyOf: skillErrorBody }
]

/** Gives the form of error replies for a path (the pattern of a route, or a URL); `undefined` for the service's own form. */
export function errorShapeOf (path: string): ErrorShape | undefined {
  return SHAPES.find(({ isFor }) => isFor(path))
}

/**
 * Gives the form in which the client of a request expects errors. It is found by the request's path, even a percent-encoded one:
 * `/%76%31/models` belongs to `/v1`. `undefined` for the service's own form.
 */
function errorShapeFor ({ routeOptions, url }: FastifyRequest): ErrorShape | undefined {
  return errorShapeOf(routeOptions.url ?? url)
}

/**
 * Answers every error: in the form that the clients of the route expect or, if a model's API has refused the request, with the error of
 * that API. The text of an unexpected error is written to the log only.
 * @param logValues whether the log may quote what a template, a tool or a model has said
 */
export function handleErrors (app: FastifyInstance, logValues: boolean): void {
  app.setErrorHandler<FastifyError | UpstreamRefusal>((error, request, reply) => {
    if (error instanceof UpstreamRefusal) {
      const refusal = isOpenAiRequest(request) ? asOpenAiError(error.body) : error.body
      return reply.code(error.status).type('application/json; charset=utf-8').send(refusal)
    }
    const known = asServiceError(error, request)
    if (known === undefined) {
      request.log.error({ err: error }, 'unexpected error')
      return sendError(request, reply, unexpected())
    }
    if (known.statusCode >= 500) request.log.warn({ code: known.code, ...(logValues ? { reason: known.message } : {}) }, 'request failed')
    return sendError(request, reply, known)
  })
}

/** Answers a URL that the router cannot parse. The router calls this before it has a route, so no hook and no error handler runs. */
export function refusePath (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const known = error.statusCode === 414 ? urlTooLong() : requestInvalid('path: expected percent-encoded UTF-8', { part: 'path' })
  sendError(request, reply.header('x-request-id', request.id), known)
}

/** Answers with an error in the service's own form or, below `/v1` and on routes that run skills, in the form that clients of those routes expect. */
function sendError (request: FastifyRequest, reply: FastifyReply, error: ServiceError): FastifyReply {
  const body = errorShapeFor(request)?.bodyOf(error, request.id) ?? errorBody(error, request.id)
  return reply.code(error.statusCode).headers(error.headers ?? {}).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}

/** An error in the service's own form, as plain data. */
export function errorBody (error: ServiceError, requestId: string) {
  return {
    statusCode: error.statusCode,
    code: error.code,
    error: nodeHttp.STATUS_CODES[error.statusCode] ?? 'Error',
    message: error.message,
    requestId,
    ...(error.details === undefined ? {} : { details: error.details })
  }
}

/** The media types that a route takes, by the schema of its body. */
function acceptedTypes ({ routeOptions }: FastifyRequest): readonly string[] {
  const body = routeOptions.schema?.body as { readonly content?: object } | undefined
  return body?.content === undefined ? ['application/json'] : Object.keys(body.content)
}

/** Turns an error of Fastify into one of the service; `undefined` for an error that is not the caller's fault. */
function asServiceError (error: FastifyError, request: FastifyRequest): ServiceError | undefined {
  if (error instanceof ServiceError) return error
  if (error.statusCode === 415) return mediaTypeUnsupported(acceptedTypes(request), request.headers['content-type'])
  if (error.statusCode === 413) return bodyTooLarge(request.routeOptions.bodyLimit)
  // The file server of the page at /docs answers 403 for a path that no file can have.
  if (error.statusCode === 403) return routeNotFound(request.method, pathOf(request))
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? new ServiceError('REQUEST_INVALID', 400, error.message) : undefined
}

/**
 * The error of Node's `clientError` event. The HTTP parser writes the reason and quotes nothing of the request in it:
 * https://github.com/nodejs/llhttp
 */
type ClientError = Error & { readonly code?: string, readonly reason?: string }

/**
 * Answers a client whose bytes Node could not read as a request: they came too slowly, their head is too large, or they are not HTTP. Node
 * reports such a client with the bare socket, https://nodejs.org/api/http.html#event-clienterror. The log line quotes nothing that the
 * client sent.
 */
export function answerClientErrors (log: FastifyBaseLogger): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    if (socket.writable && error.code !== 'ECONNRESET' && !isWithinReply(socket)) {
      const known = problemOf(error)
      const requestId = randomUUID()
      socket.write(asHttp(known, requestId))
      log.info({ requestId, status: known.statusCode, code: known.code }, 'unreadable request')
    }
    socket.destroy()
  }
}

function asHttp (error: ServiceError, requestId: string): string {
  const body = JSON.stringify(errorBody(error, requestId))
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-request-id': requestId,
    connection: 'close'
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.statusCode} ${nodeHttp.STATUS_CODES[error.statusCode] ?? ''}\r\n${lines.join('')}\r\n${body}`
}

/**
 * Whether a reply is being sent on a socket: the client would read an error in the middle of it as a part of that reply.
 * Node makes the same check before it answers such errors itself.
 */
function isWithinReply (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

function problemOf ({ code, reason }: ClientError): ServiceError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT': return requestTimeout()
    // Node counts the URL and the headers together, and does not say which of the two was too long.
    case 'HPE_HEADER_OVERFLOW': return headersTooLarge(nodeHttp.maxHeaderSize)
    case 'HPE_INVALID_URL': return requestInvalid('path: expected "/", and percent-encoded UTF-8 behind it', { part: 'path' })
    case 'HPE_INVALID_METHOD': return requestInvalid('The request does not begin with a method that is known here, such as GET', { part: 'headers' })
    default: return requestInvalid(`The request cannot be read as HTTP/1.1${reason === undefined ? '' : `: ${reason}`}`, { part: 'headers' })
  }
}
