import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { nodeHttp } from '../../base/node-http.ts'
import { bodyTooLarge, mediaTypeUnsupported, requestInvalid, routeNotFound, ServiceError, unexpected, urlTooLong } from '../../base/errors.ts'
import { pathOf } from './known-routes.ts'
import { errorShapeFor } from './error-shapes.ts'
import { asOpenAiError, isOpenAiRequest } from './openai-error.ts'
import { UpstreamRefusal } from '../../llm/upstream-error.ts'

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
