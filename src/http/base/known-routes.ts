import { type FastifyInstance, type FastifyRequest } from 'fastify'
import { methodNotAllowed, routeNearby, routeNotFound, type ServiceError } from '../../base/errors.ts'
import { refuseResponses } from './openai-error.ts'
import { SOCKET_PATH } from './protocol.ts'

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
