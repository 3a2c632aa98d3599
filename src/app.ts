import { type FastifyBaseLogger } from 'fastify'
import { type Config } from './config/config.ts'
import { accessFrom, corsOrigins } from './http/access.ts'
import { type App } from './http/app.ts'
import { KIND_ROUTES, type KindRoute } from './http/routes/entries.ts'
import { createServer } from './http/server.ts'
import { Metrics, processMetrics } from './observe/metrics.ts'
import { createObserver, openTracer } from './observe/observer.ts'
import { addCacheMetrics, addRegistryMetrics, addSessionMetrics } from './observe/registry-metrics.ts'
import { releaseKind } from './registry/kinds/release-kind.ts'
import { openService } from './service.ts'
import { type Store } from './store/store.ts'
import { type ToolType } from './tool/tool-type.ts'
import { type Siblings } from './workers/worker-link.ts'

export interface AppOptions {
  /** @default the configured store */
  readonly store?: Store | undefined
  /** @default all kinds of the service */
  readonly kindRoutes?: readonly KindRoute[]
  readonly toolTypes?: readonly ToolType[] | undefined
  readonly siblings?: Siblings | undefined
  /** For one user's program that asks by `inject`: it shows sessions itself, and exports no traces. */
  readonly isLocal?: boolean
}

/** Closing the returned app closes everything. @throws ConfigError, StoreError */
export async function createApp (config: Config, log: FastifyBaseLogger, { store, siblings, kindRoutes = KIND_ROUTES, toolTypes, isLocal = false }: AppOptions = {}): Promise<App> {
  const access = await accessFrom(config, log)
  const origins = corsOrigins(config)
  const metrics = new Metrics()
  processMetrics()
  const tracer = isLocal ? undefined : await openTracer(process.env, log)
  const observer = createObserver(metrics, tracer)
  const service = await openService(config, log, { store, kinds: [...kindRoutes.map(({ kind }) => kind).filter(({ reading }) => reading !== 'asked'), releaseKind], toolTypes, peers: siblings, onServed: metrics.served, onLabel: metrics.onLabel, sessionObserver: observer, logsSessions: !isLocal, owners: access.mode === 'tokens' ? access : undefined })
  const { registry } = service
  metrics.models.reserve(service.models.list().map(({ id }) => id))
  addRegistryMetrics(metrics.registry, registry, config.KEY_PREFIX)
  addCacheMetrics(metrics.registry, service.caches)
  addSessionMetrics(metrics.registry, service.sessions)

  const app = await createServer({
    service,
    kindRoutes,
    log,
    access,
    corsOrigins: origins,
    observer,
    readMetrics: () => metrics.read(siblings && (own => siblings.metrics(own))),
    onWatched: () => siblings?.watched(),
    logValues: config.LOG_VALUES,
    renderTimeout: config.RENDER_TIMEOUT_MS,
    bodyLimit: config.BODY_LIMIT_BYTES,
    mcpServer: config.MCP_SERVER === 'on',
    console: config.CONSOLE === 'on'
  })
  app.addHook('onListen', async () => { void service.sessions.begin() })
  app.addHook('onClose', async () => {
    if (access.mode === 'tokens') access.close?.()
    await Promise.all([service.close(), tracer?.close()])
  })
  siblings?.attend({ collectMetrics: () => metrics.collect(), reload: () => registry.reload(), follow: keys => registry.follow(keys), watched: () => app.rotation.siblingAsked() })
  app.decorate('usage', service.usage)
  await app.ready()
  return app
}
