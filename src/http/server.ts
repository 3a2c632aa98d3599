import { randomUUID } from 'node:crypto'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { MAX_ID_LENGTH } from '../base/errors.ts'
import { type Registry } from '../registry/registry.ts'
import { type Access, allowOrigins, callerRoutes, guardAccess, guardHosts, guardUpgrades } from './access.ts'
import { type Service } from '../service.ts'
import type { App, RequestObserver, SchemaTypes } from './app.ts'
import { answerClientErrors, handleErrors, refusePath, refuseUnknownRoutes } from './error-replies.ts'
import { closeRequests, schemaController } from './validation.ts'
import { controlAdmission, limitRates } from './admission.ts'
import { closeConnectionsWhenLeaving, closePipelinedReplies, drainOnClose, Rotation } from './connections.ts'
import { checkRequestHeads, readJsonBodies } from './request-reading.ts'
import { observeRequests } from './request-log.ts'
import { openApiRoutes } from './openapi-routes.ts'
import { agentRoutes } from './routes/agents.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { chatRoutes } from './routes/chat.ts'
import { environRoutes } from './routes/environs.ts'
import { extensionRoutes } from './routes/extensions.ts'
import { healthRoutes, metricsRoutes, type ReadMetrics, statusRoutes } from './routes/status.ts'
import { lintRoutes } from './routes/lint.ts'
import { memoryRoutes, planRoutes } from './routes/plans.ts'
import { definitionRoutes, type KindRoute, publishingRoutes, usedByRoutes } from './routes/entries.ts'
import { needsRoutes, promptRoutes } from './routes/prompts.ts'
import { offerRoutes } from './routes/offers.ts'
import { openAiRoutes } from './routes/openai.ts'
import { eventRoutes } from './routes/events.ts'
import { previewRoutes } from './routes/preview.ts'
import { promptTestRoutes } from './routes/prompt-tests.ts'
import { releaseRoutes } from './routes/releases.ts'
import { renderRoutes } from './routes/render.ts'
import { skillRoutes } from './routes/skills.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { traceRoutes } from './routes/traces.ts'
import { toolRoutes } from './routes/tools.ts'
import { seekPrompts } from './prompt-request.ts'
import { acceptSockets } from './socket/accept-sockets.ts'
import { terminalRoutes } from './routes/terminals.ts'
import { socketRoutes } from './socket/websocket.ts'
import { mcpRoutes } from './mcp-routes.ts'
import { typedRoutes } from './routes/typed-prompts.ts'
import { consoleRoutes } from './routes/console.ts'

interface ServerOptions {
  readonly service: Service
  readonly log: FastifyBaseLogger
  readonly access: Access
  readonly corsOrigins: readonly string[]
  readonly observer: RequestObserver
  readonly readMetrics: ReadMetrics
  readonly onWatched: () => void
  readonly logValues: boolean
  /** In ms. */
  readonly renderTimeout: number
  /** In bytes. */
  readonly bodyLimit: number
  readonly mcpServer: boolean
  readonly console: boolean
  readonly kindRoutes: readonly KindRoute[]
}

/** For a whole request and for its headers to arrive, in ms; slower clients get 408. */
const REQUEST_TIMEOUT = 30_000
const HEADERS_TIMEOUT = 10_000

/** A share of `renderTimeout`, so that most of it remains for the render itself. */
const SHARE_OF_WAITING = 1 / 5

/** Makes the HTTP server with all its routes. */
export async function createServer ({ service, kindRoutes, ...options }: ServerOptions): Promise<App> {
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
  controlAdmission(app, { limit: options.renderTimeout * SHARE_OF_WAITING, onRefused: options.observer.refused, origins: options.corsOrigins })
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
  guardUpgrades(app, options.access)
  refuseUnknownRoutes(app)
  guardAccess(app, options.access)
  limitRates(app, service.rates)
  seekPrompts(app, registry)
  openApiRoutes(app)

  app.register(async routes => {
    const api = routes.withTypeProvider<SchemaTypes>()
    extensionRoutes(api, registry)
    promptRoutes(api, { registry, choosePrompt: service.choosePrompt })
    needsRoutes(api, { environs: registry.environs, choosePrompt: service.choosePrompt })
    typedRoutes(api, registry)
    environRoutes(api, { registry, readEnviron: service.readEnviron })
    toolRoutes(api, service)
    usedByRoutes(api, service)
    lintRoutes(api, kindRoutes, service)
    previewRoutes(api, service)
    promptTestRoutes(api, service)
    callerRoutes(api, options.access)
    eventRoutes(api, service)
    definitionRoutes(api, registry, kindRoutes)
    publishingRoutes(api, kindRoutes, service.publisher)
    releaseRoutes(api, service.releases)
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
    memoryRoutes(api, service.memories)
    statusRoutes(api, service)
    healthRoutes(api, { registry, rotation, sessions: service.sessions })
    metricsRoutes(api, options)
    socketRoutes(api, service, options.corsOrigins)
    if (options.console) consoleRoutes(api)
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
