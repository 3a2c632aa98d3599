import { type App } from './app-types.ts'

/** One log line per request, when it has been answered; values of variables are never in it. */
export function logRequests (app: App): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, params, id } = request
    request.log.info({
      requestId: id,
      method,
      route: request.routeOptions.url,
      ...(isIdentified(params) ? { id: params.id } : {}),
      status: reply.statusCode,
      revision: request.generation.revision,
      milliseconds: Math.round(reply.elapsedTime * 100) / 100
    }, 'request')
  })
}

function isIdentified (params: unknown): params is { readonly id: string } {
  return typeof params === 'object' && params !== null && 'id' in params
}
