import { randomUUID } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import fastify, { type FastifyBaseLogger, LogController, type FastifyReply, type FastifyRequest } from 'fastify'
import { MAX_ID_LENGTH } from '../base/errors.ts'
import type { Registry } from '../registry/registry.ts'
import { type Access, allowOrigins, callerRoutes, checkIdentities, guardAccess, guardHosts, guardUpgrades, resourceRoutes } from './access.ts'
import type { Service } from '../service.ts'
import type { Observer } from '../observe/activity.ts'
import type { App, SchemaTypes } from './app.ts'
import { answerClientErrors, handleErrors, refusePath, refuseUnknownRoutes } from './error-replies.ts'
import { closeRequests, schemaController } from './validation.ts'
import { compressReplies } from './compression.ts'
import { controlAdmission, limitChatBodies, limitRates } from './admission.ts'
import { closeConnectionsWhenLeaving, closePipelinedReplies, drainOnClose, Rotation, acceptSockets } from './connections.ts'
import { checkRequestHeads, readJsonBodies } from './request-reading.ts'
import { observeRequests } from './request-log.ts'
import { agentRoutes } from './routes/agents.ts'
import { approvalRoutes, sessionRoutes } from './routes/sessions.ts'
import { chatRoutes, renderRoutes } from './routes/render.ts'
import { environRoutes } from './routes/environs.ts'
import { extensionRoutes } from './routes/extensions.ts'
import { healthRoutes, metricsRoutes, statusRoutes } from './routes/status.ts'
import { lintRoutes, definitionRoutes, type KindRoute, mentionRoutes, publishingRoutes, usedByRoutes } from './routes/entries.ts'
import { memoryRoutes, planRoutes } from './routes/plans.ts'
import { needsRoutes, promptRoutes, previewRoutes, promptTestRoutes } from './routes/prompts.ts'
import { offerRoutes } from './routes/offers.ts'
import { openAiRoutes } from './routes/openai.ts'
import { eventRoutes } from './routes/events.ts'
import { releaseRoutes } from './routes/releases.ts'
import { skillRoutes } from './routes/skills.ts'
import { traceRoutes } from './routes/traces.ts'
import { toolRoutes } from './routes/tools.ts'
import { seekPrompts } from './prompt-request.ts'
import { socketRoutes } from './socket/websocket.ts'
import { terminalRoutes } from './routes/terminals.ts'
import { noticeRoutes } from './routes/notices.ts'
import { usageRoutes } from './routes/usage.ts'
import { typedRoutes } from './routes/typed-prompts.ts'
import { consoleRoutes } from './routes/console.ts'
import { Type } from '../schema/builder.ts'
import type { McpEndpoint } from './mcp-handler.ts'
import type { McpUses } from './mcp-tools.ts'
import type { ApiRoute, describeCalls } from './openapi.ts'

/** For a whole request and for its headers to arrive, in ms; slower clients get 408. */
const REQUEST_TIMEOUT = 30_000
const HEADERS_TIMEOUT = 10_000

/** A share of `renderTimeout`, so that most of it remains for the render itself. */
const SHARE_OF_WAITING = 1 / 5

/** Of the heap's limit, by which operators say how much memory there is: for all bodies of requests to models together. */
const SHARE_OF_HEAP = 1 / 4

/** Makes the HTTP server with all its routes. The `renderTimeout` is in ms, the limits of bodies are in bytes. */
export async function createServer ({ service, kindRoutes, ...options }: {
  service: Service
  log: FastifyBaseLogger
  access: Access
  defaultLabel?: string | undefined
  corsOrigins: readonly string[]
  observer: Observer
  readMetrics: () => Promise<string>
  onWatched: () => void
  logValues: boolean
  renderTimeout: number
  bodyLimit: number
  chatBodyLimit: number
  mcpServer: boolean
  console: boolean
  kindRoutes: readonly KindRoute[]
}): Promise<App> {
  const { registry } = service
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    schemaController: schemaController(),
    bodyLimit: options.bodyLimit,
    requestTimeout: REQUEST_TIMEOUT,
    http: { headersTimeout: HEADERS_TIMEOUT, connectionsCheckingInterval: 1000, requireHostHeader: false },
    requestIdHeader: false,
    genReqId: request => acceptableId(request.headers['x-request-id']) ?? randomUUID(),
    // A request that arrives while the server closes is still answered; its reply closes the connection.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: refusePath,
    clientErrorHandler: answerClientErrors(options.log),
    routerOptions: { maxParamLength: MAX_ID_LENGTH }
  }).withTypeProvider<SchemaTypes>()

  await acceptSockets(app)
  const rotation = new Rotation(options.onWatched)
  const onRefused = (): void => { options.observer.metrics.refused.inc() }
  const patience = options.renderTimeout * SHARE_OF_WAITING
  controlAdmission(app, patience, onRefused, options.corsOrigins)
  const most = Math.floor(getHeapStatistics().heap_size_limit * SHARE_OF_HEAP)
  limitChatBodies(app, options.chatBodyLimit, most, patience)
  closePipelinedReplies(app)
  followGeneration(app, registry)
  observeRequests(app, options.observer, options.logValues)
  checkRequestHeads(app)
  guardHosts(app, options.access)
  closeConnectionsWhenLeaving(app, rotation)
  drainOnClose(app)
  handleErrors(app, options.logValues)
  readJsonBodies(app)
  closeRequests(app)
  await allowOrigins(app, options.corsOrigins)
  checkIdentities(app, options.access)
  guardUpgrades(app, options.access)
  refuseUnknownRoutes(app)
  guardAccess(app, options.access)
  limitRates(app, service.rates)
  seekPrompts(app, registry)
  openApiRoutes(app)
  compressReplies(app)

  app.register(async routes => {
    const api = routes.withTypeProvider<SchemaTypes>()
    extensionRoutes(api, registry)
    promptRoutes(api, service)
    needsRoutes(api, service)
    typedRoutes(api, registry)
    environRoutes(api, service)
    toolRoutes(api, service)
    usedByRoutes(api, service)
    mentionRoutes(api)
    lintRoutes(api, kindRoutes, service)
    previewRoutes(api, service)
    promptTestRoutes(api, service)
    callerRoutes(api, options.access, options.defaultLabel)
    eventRoutes(api, service)
    definitionRoutes(api, registry, kindRoutes)
    publishingRoutes(api, kindRoutes, service.publisher)
    releaseRoutes(api, service)
    renderRoutes(api, service)
    chatRoutes(api, service)
    openAiRoutes(api, service)
    if (options.mcpServer) mcpRoutes(api, service, registry)
    agentRoutes(api, service)
    skillRoutes(api, service)
    offerRoutes(api, service.offers)
    sessionRoutes(api, service)
    approvalRoutes(api, service.sessions)
    planRoutes(api, service)
    terminalRoutes(api, service)
    traceRoutes(api, service.traces)
    usageRoutes(api, service)
    noticeRoutes(api, service.notices)
    memoryRoutes(api, service.memories)
    statusRoutes(api, service)
    resourceRoutes(api, options.access)
    healthRoutes(api, { registry, rotation, sessions: service.sessions, access: options.access })
    metricsRoutes(api, options)
    socketRoutes(api, service, options.corsOrigins)
    if (options.console) consoleRoutes(api, options.access)
  })
  return app
}

function followGeneration (app: App, registry: Registry): void {
  app.decorateRequest('generation')
  app.addHook('onRequest', (request, reply, done) => {
    request.generation = registry.generation
    reply.header('x-request-id', request.id)
    done()
  })
}

/** `undefined` if missing, too long, or with characters that logs or headers cannot carry. */
function acceptableId (given: string | string[] | undefined): string | undefined {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : undefined
}

const Message = Type.Object({ jsonrpc: Type.Literal('2.0') }, { additionalProperties: true, description: 'A message of JSON-RPC' })

/** MCP over streamable HTTP: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
function mcpRoutes (app: App, uses: Omit<McpUses, 'environs'>, registry: Registry): void {
  let endpoint: Promise<McpEndpoint> | undefined

  /** At the first request: most services have no MCP clients. */
  async function load (): Promise<McpEndpoint> {
    const { McpEndpoint } = await import('./mcp-handler.ts')
    return new McpEndpoint({ ...uses, environs: registry.environs }, registry)
  }

  app.addHook('preClose', async () => { await (await endpoint)?.close() })

  app.post('/mcp', {
    config: { role: 'render' },
    // Not in openapi.json: JSON-RPC replies have statuses and shapes of their own, see docs/mcp.md.
    schema: { hide: true, body: Message }
  }, async (request, reply) => {
    endpoint ??= load()
    return await reply.send(await (await endpoint).answer(request, reply))
  })
}

/** They decide whether a file is sent, which part of it, and in which encoding. */
const PASSED_ON = ['if-none-match', 'if-modified-since', 'range', 'accept-encoding'] as const

/** Not passed to the client: the server that it asked sets its own. */
const OWN = ['date', 'connection', 'keep-alive', 'transfer-encoding']

/** Answered by an inner server without a port, made at the first request: it would take a tenth of every start. */
function openApiRoutes (app: App): void {
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
