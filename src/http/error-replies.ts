import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  bodyTooLarge, headersTooLarge, mediaTypeUnsupported, methodNotAllowed, requestInvalid, requestTimeout, responsesNotStored, routeNearby, routeNotFound,
  ServiceError, unexpected, urlTooLong
} from '../base/errors.ts'
import { isJsonObject, type JsonObject, stringifyJson } from '../base/json.ts'
import { nodeHttp } from '../runtime/http-modules.ts'
import { type TSchema, Type } from '../schema/builder.ts'
import { openAiError, type UpstreamCode, UpstreamRefusal } from '../llm/upstream-error.ts'
import { SOCKET_PATH } from './connections.ts'

type MethodsOf = (path: string) => readonly string[]

/** Before the body is read, so that no reply complains of a body where the path is wrong. @throws ROUTE_NOT_FOUND, METHOD_NOT_ALLOWED */
export function refuseUnknownRoutes (app: FastifyInstance): void {
  const methodsOf = rememberRoutes(app)
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) done(whatIsWrong(request, methodsOf))
    // The WebSocket library would open a socket at every path, and close it again.
    else if (request.ws === true && request.routeOptions.url !== SOCKET_PATH) done(routeNearby('WebSocket', pathOf(request), [`WebSocket ${SOCKET_PATH}`]))
    else done()
  })
  // The file server of /docs calls this for missing files.
  app.setNotFoundHandler(request => { throw routeNotFound(request.method, pathOf(request)) })
}

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

function rememberRoutes (app: FastifyInstance): MethodsOf {
  const routes: Array<{ readonly method: string, readonly pattern: RegExp }> = []
  app.addHook('onRoute', ({ method, url }) => {
    const pattern = new RegExp(`^${url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`)
    // Preflights (OPTIONS) are answered for every path, whether it has a route or not.
    for (const each of [method].flat()) if (each !== 'OPTIONS') routes.push({ method: each, pattern })
  })
  return path => [...new Set(routes.filter(({ pattern }) => pattern.test(decoded(path))).map(({ method }) => method))].sort()
}

/** As the router does: `/%61pi` is `/api`. */
function decoded (path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** In characters. */
const MAX_TEXT = 2000

/** Other statuses are `server_error` from 500 on, else `invalid_request_error`. */
const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 403: 'permission_error', 429: 'rate_limit_error', 502: 'upstream_error' }

export function isOpenAiPath (url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** Also when the path is percent-encoded: `/%76%31/models`. */
function isOpenAiRequest ({ routeOptions, url }: FastifyRequest): boolean {
  return isOpenAiPath(routeOptions.url ?? url)
}

/** The service stores no responses, so OpenAI's routes that read them are refused; `undefined` for other paths. */
function refuseResponses (method: string, path: string): ServiceError | undefined {
  return /^\/v1\/responses(?:\/|$)/.test(path) ? responsesNotStored(method, path) : undefined
}

export function openAiBody ({ message, code, statusCode, details }: ServiceError): JsonObject {
  // The provider's code and type stay: clients tell a quota from a rate limit by them.
  const { code: theirs, type } = (details?.['upstream'] ?? {}) as UpstreamCode
  return openAiError(message, type ?? typeOf(statusCode), theirs ?? code)
}

function asOpenAiError (body: JsonObject): JsonObject {
  if (isJsonObject(body['error'])) return body
  return openAiError(stringifyJson(body).slice(0, MAX_TEXT), 'invalid_request_error', null)
}

function typeOf (status: number): string {
  if (Object.hasOwn(TYPES, status)) return TYPES[status] as string
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** Their replies are wrapped in `{ success, data }`; `/api/skills/definitions` is not one of them. */
function isSkillPath (path: string): boolean {
  return /^\/api\/skills\/(?!definitions(?:[/?]|$))/.test(path)
}

export const SkillErrorReply = Type.Object({
  success: Type.Literal(false),
  error: Type.String({ description: 'What went wrong, in the words of the protocol' }),
  code: Type.String({ description: 'Stable code for programs; docs/errors.md has all of them', examples: ['SESSION_NOT_FOUND'] }),
  requestId: Type.String({ description: 'The x-request-id of this request' }),
  details: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Facts for programs: near matches, missing parameters, the approval that waits now' }))
}, { $id: 'SkillError', title: 'SkillError' })

/** Other than in the rest of the API, because clients of skills expect these. */
const WORDS: Readonly<Record<string, (details: ServiceError['details']) => string>> = {
  SESSION_NOT_FOUND: () => 'Skill session not found',
  TARGET_NOT_FOUND: () => 'Terminal session not found',
  TERMINAL_NOT_FOUND: () => 'Terminal session not found',
  TARGETS_NOT_OFFERED: () => 'No SSH connection available',
  DEFINITION_NOT_FOUND: details => `Skill "${String(details?.['id'])}" not found${reasonOf(details)}`
}

function reasonOf (details: ServiceError['details']): string {
  const { problems = [] } = (details ?? {}) as { readonly problems?: readonly string[] }
  return problems.length === 0 ? '' : `: ${problems.join('; ')}`
}

export function skillErrorText ({ code, message, details }: ServiceError): string {
  return WORDS[code]?.(details) ?? message
}

function skillErrorBody (error: ServiceError, requestId: string): object {
  const { code, details } = error
  return { success: false, error: skillErrorText(error), code, requestId, details }
}

export function successWith<T> (data: T) {
  return { success: true as const, data }
}

export function skillReply<S extends TSchema> (data: S) {
  return { 200: Type.Object({ success: Type.Literal(true), data }) }
}

export function skillTurn<S extends TSchema> (data: S) {
  const success = Type.Object({ success: Type.Literal(true), data })
  return { 200: success, 202: success }
}

interface ErrorShape {
  readonly schema: string
  readonly suffix: string
  readonly isFor: (path: string) => boolean
  readonly bodyOf: (error: ServiceError, requestId: string) => object
}

const SHAPES: readonly ErrorShape[] = [
  { schema: 'OpenAiError', suffix: 'OPENAI', isFor: isOpenAiPath, bodyOf: openAiBody },
  { schema: 'SkillError', suffix: 'SKILL', isFor: isSkillPath, bodyOf: skillErrorBody }
]

/** `undefined` for the service's own form. */
export function errorShapeOf (path: string): ErrorShape | undefined {
  return SHAPES.find(({ isFor }) => isFor(path))
}

/** By the path, even a percent-encoded one: `/%76%31/models` belongs to `/v1`. `undefined` for the service's own form. */
function errorShapeFor ({ routeOptions, url }: FastifyRequest): ErrorShape | undefined {
  return errorShapeOf(routeOptions.url ?? url)
}

/** The text of an unexpected error goes to the log only. @param logValues whether the log may quote templates, tools and models */
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
    if (known.statusCode >= 500) request.log.warn({ code: known.code, reason: logValues ? known.message : undefined }, 'request failed')
    return sendError(request, reply, known)
  })
}

/** The router calls this before it has a route, so no hook and no error handler runs. */
export function refusePath (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const known = error.statusCode === 414 ? urlTooLong() : requestInvalid('path: expected percent-encoded UTF-8', { part: 'path' })
  sendError(request, reply.header('x-request-id', request.id), known)
}

function sendError (request: FastifyRequest, reply: FastifyReply, error: ServiceError): FastifyReply {
  const body = errorShapeFor(request)?.bodyOf(error, request.id) ?? errorBody(error, request.id)
  return reply.code(error.statusCode).headers(error.headers ?? {}).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}

export function errorBody (error: ServiceError, requestId: string) {
  return {
    statusCode: error.statusCode,
    code: error.code,
    error: nodeHttp.STATUS_CODES[error.statusCode] ?? 'Error',
    message: error.message,
    requestId,
    details: error.details
  }
}

function acceptedTypes ({ routeOptions }: FastifyRequest): readonly string[] {
  const body = routeOptions.schema?.body as { readonly content?: object } | undefined
  return body?.content === undefined ? ['application/json'] : Object.keys(body.content)
}

export function bodyTooLargeFor ({ routeOptions: { bodyLimit, config } }: FastifyRequest): ServiceError {
  return bodyTooLarge(bodyLimit, `${config.role === 'chat' ? 'CHAT_' : ''}BODY_LIMIT_BYTES of this service allows`)
}

/** `undefined` for an error that is not the caller's fault. */
function asServiceError (error: FastifyError, request: FastifyRequest): ServiceError | undefined {
  if (error instanceof ServiceError) return error
  if (error.statusCode === 415) return mediaTypeUnsupported(acceptedTypes(request), request.headers['content-type'])
  if (error.statusCode === 413) return bodyTooLargeFor(request)
  // The file server of /docs answers 403 for a path that no file can have.
  if (error.statusCode === 403) return routeNotFound(request.method, pathOf(request))
  const status = error.statusCode ?? 500
  return status >= 400 && status < 500 ? new ServiceError('REQUEST_INVALID', 400, error.message) : undefined
}

/** The parser's `reason` quotes nothing of the request: https://github.com/nodejs/llhttp */
type ClientError = Error & { readonly code?: string, readonly reason?: string }

/** Node gives the bare socket: https://nodejs.org/api/http.html#event-clienterror. The log quotes nothing that the client sent. */
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

/** Within a reply an error would be read as a part of it; Node makes the same check before it answers such errors. */
function isWithinReply (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}

function problemOf ({ code, reason }: ClientError): ServiceError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT': return requestTimeout()
    // Node counts URL and headers together, and does not say which was too long.
    case 'HPE_HEADER_OVERFLOW': return headersTooLarge(nodeHttp.maxHeaderSize)
    case 'HPE_INVALID_URL': return requestInvalid('path: expected "/", and percent-encoded UTF-8 behind it', { part: 'path' })
    case 'HPE_INVALID_METHOD': return requestInvalid('The request does not begin with a method that is known here, such as GET', { part: 'headers' })
    default: return requestInvalid(`The request cannot be read as HTTP/1.1${reason === undefined ? '' : `: ${reason}`}`, { part: 'headers' })
  }
}
