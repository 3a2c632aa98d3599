import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type App } from './app.ts'
import { type Call, type describeCalls } from './openapi.ts'

/**
 * Request headers that are passed on to the inner server (see `openApiRoutes`): they decide whether a file is sent, which part of it, and in
 * which encoding.
 */
const PASSED_ON = ['if-none-match', 'if-modified-since', 'range', 'accept-encoding'] as const

/** Reply headers of the inner server (see `openApiRoutes`) that do not go to the client, since the server that the client asked sets its own. */
const OWN = ['date', 'connection', 'keep-alive', 'transfer-encoding']

/**
 * The routes of the API's description at `/openapi.json` and of its page at `/docs`. An inner server, which listens on no port, gives the
 * answers. It describes the routes that are registered after this call. It is created at the first request, since creating it would take a
 * tenth of the time of every start.
 */
export function openApiRoutes (app: App): void {
  const calls: Call[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (schema?.tags !== undefined && method !== 'HEAD') calls.push({ method, url, schema, ...(config === undefined ? {} : { config }) })
  })
  let made: ReturnType<typeof describeCalls> | undefined
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    made ??= import('./openapi.ts').then(openApi => openApi.describeCalls(calls))
    const headers: Record<string, string> = { 'x-request-id': request.id }
    for (const name of PASSED_ON) if (request.headers[name] !== undefined) headers[name] = request.headers[name]
    const { statusCode, headers: given, rawPayload } = await (await made).inject({ method: 'GET', url: request.url, headers })
    if (statusCode === 404) {
      reply.callNotFound()
      return reply
    }
    for (const [name, value] of Object.entries(given)) if (!OWN.includes(name)) reply.header(name, value)
    return await reply.code(statusCode).send(rawPayload.length === 0 ? undefined : rawPayload)
  }
  const options = { logLevel: 'warn', schema: { hide: true } } as const
  for (const url of ['/openapi.json', '/docs', '/docs/*']) app.get(url, options, answer)
  for (const url of ['/swagger', '/documentation']) app.get(url, { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'))
}
