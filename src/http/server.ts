import { randomUUID } from 'node:crypto'
import { type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, LogController } from 'fastify'
import { MAX_ID_LENGTH } from '../base/errors.ts'
import { type Rates } from '../access/rates.ts'
import { type Registry } from '../registry/registry.ts'
import { type ChatWithPrompt } from '../service/chat/chat-with-prompt.ts'
import { type FindUsers } from '../service/lint/find-users.ts'
import { type LintCandidate } from '../service/lint/lint-candidate.ts'
import { type ListNotices } from '../service/lint/list-notices.ts'
import { type CountedModels } from '../service/chat/counted-models.ts'
import { type Publisher } from '../service/publish/publish-entry.ts'
import { type ReadEnviron } from '../service/render/read-environ.ts'
import { type Recordings } from '../service/render/recordings.ts'
import { type RenderPrompt } from '../service/render/render-prompt.ts'
import { type TryTool } from '../service/tools/try-tool.ts'
import { type PreparationState } from '../tool/call/preparation.ts'
import { type Access, guardAccess, guardHosts } from './security/access.ts'
import { type App } from './app-types.ts'
import { answerClientErrors } from './client-errors.ts'
import { allowOrigins } from './security/cors.ts'
import { controlAdmission } from './admission/admission-control.ts'
import { drainOnClose } from './admission/drain.ts'
import { handleErrors, refusePath } from './error-handler.ts'
import { readJsonBodies } from './json-body.ts'
import { refuseUnknownRoutes } from './known-routes.ts'
import { observeRequests } from './request-log.ts'
import { type RequestObserver } from './request-observer.ts'
import { describeApi } from './openapi/openapi.ts'
import { closePipelinedReplies } from './admission/pipelined-replies.ts'
import { limitRates } from './admission/rate-limit.ts'
import { checkRequestHeads } from './security/request-head.ts'
import { closeConnectionsWhenLeaving, Rotation } from './admission/rotation.ts'
import { chatRoutes } from './routes/chat.ts'
import { environRoutes } from './routes/environs.ts'
import { extensionRoutes } from './routes/extensions.ts'
import { healthRoutes } from './routes/health.ts'
import { lintRoutes } from './routes/lint.ts'
import { metricsRoutes, type ReadMetrics } from './routes/metrics.ts'
import { needsRoutes } from './routes/needs.ts'
import { openAiRoutes } from './routes/openai.ts'
import { promptRoutes } from './routes/prompts.ts'
import { publishingRoutes } from './routes/publishing.ts'
import { renderRoutes } from './routes/render.ts'
import { statusRoutes } from './routes/status.ts'
import { toolRoutes } from './routes/tools.ts'
import { usedByRoutes } from './routes/used-by.ts'
import { seekPrompts } from './seek-prompt.ts'
import { schemaController } from './openapi/schema-controller.ts'

/** What the HTTP side needs of the service. */
export interface ServerOptions {
  readonly log: FastifyBaseLogger
  readonly access: Access
  readonly rates: Rates
  /** Origins whose pages may call. */
  readonly corsOrigins: readonly string[]
  readonly registry: Registry
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly models: CountedModels
  readonly readEnviron: ReadEnviron
  readonly findUsers: FindUsers
  readonly lintCandidate: LintCandidate
  readonly listNotices: ListNotices
  readonly recordings: Recordings
  readonly tryTool: TryTool
  readonly publisher: Publisher
  readonly observer: RequestObserver
  readonly readMetrics: ReadMetrics
  /** Reads the store now, and believes it when it is empty; in every process of the service. */
  readonly reload: () => Promise<void>
  /** Told now and then while somebody asks for readiness. */
  readonly onWatched: () => void
  /** Whether values of variables may be logged. */
  readonly logValues: boolean
  /** How far the tools of a registration are, by its id. */
  readonly toolStates: () => ReadonlyMap<string, PreparationState>
  /** Of environ keys: `shenma:environs:`. */
  readonly environPrefix: string
  /** Time that a render may take, in ms. */
  readonly renderTimeout: number
  /** Largest request body, in bytes. */
  readonly bodyLimit: number
}

/** Time for a whole request to arrive, and for its headers, in ms; slower clients get 408. */
const REQUEST_TIMEOUT = 30_000
const HEADERS_TIMEOUT = 10_000

/** What a request may wait in the queue of a render's time; the rest is for the render. */
const SHARE_OF_WAITING = 1 / 5

/** The HTTP server with all its routes. */
export async function createServer (options: ServerOptions): Promise<App> {
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    schemaController: schemaController(),
    bodyLimit: options.bodyLimit,
    requestTimeout: REQUEST_TIMEOUT,
    http: { headersTimeout: HEADERS_TIMEOUT, connectionsCheckingInterval: 1000, requireHostHeader: false },
    requestIdHeader: false,
    genReqId: request => acceptableId(request.headers['x-request-id']) ?? randomUUID(),
    // What still arrives over an open connection is answered; the reply closes the connection.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: refusePath,
    clientErrorHandler: answerClientErrors(options.log),
    routerOptions: { maxParamLength: MAX_ID_LENGTH }
  }).withTypeProvider<TypeBoxTypeProvider>()

  const rotation = new Rotation(options.onWatched)
  controlAdmission(app, { limit: options.renderTimeout * SHARE_OF_WAITING, onRefused: options.observer.refused, origins: options.corsOrigins })
  closePipelinedReplies(app)
  followGeneration(app, options.registry)
  observeRequests(app, options.observer, options.logValues)
  checkRequestHeads(app)
  guardHosts(app, options.access)
  closeConnectionsWhenLeaving(app, rotation)
  drainOnClose(app)
  handleErrors(app, options.logValues)
  readJsonBodies(app)
  await allowOrigins(app, options.corsOrigins)
  refuseUnknownRoutes(app)
  guardAccess(app, options.access)
  limitRates(app, options.rates)
  seekPrompts(app, options.registry)
  await describeApi(app)

  app.register(async routes => {
    const api = routes.withTypeProvider<TypeBoxTypeProvider>()
    extensionRoutes(api)
    promptRoutes(api, options.registry)
    needsRoutes(api, options.registry)
    environRoutes(api, { environs: options.registry.environs, prefix: options.environPrefix, readEnviron: options.readEnviron })
    toolRoutes(api, options)
    usedByRoutes(api, options)
    lintRoutes(api, options)
    publishingRoutes(api, options)
    renderRoutes(api, options)
    chatRoutes(api, options)
    openAiRoutes(api, options)
    statusRoutes(api, options)
    healthRoutes(api, { registry: options.registry, rotation })
    metricsRoutes(api, options)
  })
  return app
}

/** Every request keeps the generation that it began with. */
function followGeneration (app: App, registry: Registry): void {
  app.decorateRequest('generation')
  app.addHook('onRequest', (request, reply, done) => {
    request.generation = registry.generation
    reply.header('x-request-id', request.id)
    done()
  })
}

/** A caller's own request id, if it is one that logs and headers can carry. */
function acceptableId (given: string | string[] | undefined): string | undefined {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : undefined
}
