import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type App } from './app.ts'
import { type ApiRoute, type describeCalls } from './openapi.ts'

/** They decide whether a file is sent, which part of it, and in which encoding. */
const PASSED_ON = ['if-none-match', 'if-modified-since', 'range', 'accept-encoding'] as const

/** Not passed to the client: the server that it asked sets its own. */
const OWN = ['date', 'connection', 'keep-alive', 'transfer-encoding']

/** Answered by an inner server without a port, made at the first request: it would take a tenth of every start. */
export function openApiRoutes (app: App): void {
  const calls: ApiRoute[] = []
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    if (schema?.tags !== undefined && method !== 'HEAD') calls.push({ method, url, schema, config })
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
