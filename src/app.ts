import type { FastifyBaseLogger } from 'fastify'
import { Counter, Gauge, type Registry as PrometheusRegistry } from 'prom-client'
import type { Config } from './config/config.ts'
import { accessFrom, corsOrigins } from './http/access.ts'
import type { App } from './http/app.ts'
import { KIND_ROUTES, type KindRoute } from './http/routes/entries.ts'
import { createServer } from './http/server.ts'
import { type BoundedNames, Metrics, processMetrics } from './observe/metrics.ts'
import { openTracer } from './observe/activity.ts'
import { releaseKind } from './registry/kinds/release-kind.ts'
import { openService, type Service } from './service.ts'
import { pricesFrom } from './service/from-config.ts'
import type { SessionService } from './service/sessions/session-service.ts'
import type { Tally } from './session/store/session-store.ts'
import { type Store, kindPrefix } from './store/store.ts'
import type { ToolType } from './tool/tool-type.ts'
import type { WorkerLink } from './workers/worker-link.ts'
import { offeredOf } from './registry/offered.ts'
import type { Registry } from './registry/registry.ts'

export interface AppOptions {
  /** @default the configured store */
  readonly store?: Store | undefined
  /** @default all kinds of the service */
  readonly kindRoutes?: readonly KindRoute[]
  readonly toolTypes?: readonly ToolType[] | undefined
  readonly siblings?: WorkerLink | undefined
  /** For one user's program that asks by `inject`: it shows sessions itself, and exports no traces. */
  readonly isLocal?: boolean
}

/** Closing the returned app closes everything. @throws ConfigError, StoreError */
export async function createApp (config: Config, log: FastifyBaseLogger, { store, siblings, kindRoutes = KIND_ROUTES, toolTypes, isLocal = false }: AppOptions = {}): Promise<App> {
  const access = await accessFrom(config, log)
  const origins = corsOrigins(config)
  const metrics = new Metrics(await pricesFrom(config))
  processMetrics()
  const tracer = isLocal ? undefined : await openTracer(process.env, log)
  const observer = { metrics, tracer }
  const service = await openService(config, log, { store, kinds: [...kindRoutes.map(({ kind }) => kind).filter(({ reading }) => reading !== 'asked'), releaseKind], toolTypes, peers: siblings, observer, logsSessions: !isLocal, owners: access.mode === 'tokens' ? access : undefined })
  const { registry } = service
  metrics.models.reserve(service.models.list().map(({ id }) => id))
  addRegistryMetrics(metrics.registry, registry, config.KEY_PREFIX)
  addCacheMetrics(metrics.registry, service.caches)
  addSessionMetrics(metrics.registry, service.sessions, metrics.kinds)
  addNoticeMetrics(metrics.registry, service.notices)

  const app = await createServer({
    service,
    kindRoutes,
    log,
    access,
    defaultLabel: config.DEFAULT_LABEL,
    corsOrigins: origins,
    observer,
    readMetrics: () => metrics.read(siblings && (own => siblings.metrics(own))),
    onWatched: () => siblings?.watched(),
    logValues: config.LOG_VALUES,
    renderTimeout: config.RENDER_TIMEOUT_MS,
    bodyLimit: config.BODY_LIMIT_BYTES,
    chatBodyLimit: config.CHAT_BODY_LIMIT_BYTES,
    mcpServer: config.MCP_SERVER === 'on',
    console: config.CONSOLE === 'on'
  })
  app.addHook('onListen', async () => { void service.sessions.begin() })
  app.addHook('onClose', async () => {
    if (access.mode === 'tokens') access.close?.()
    await service.close()
    // Last, so that the spans of what the end cuts short are sent too.
    await tracer?.close()
  })
  siblings?.attend({ collectMetrics: () => metrics.collect(), reload: () => registry.reload(), follow: keys => registry.follow(keys), watched: () => app.rotation.siblingAsked() })
  await app.ready()
  return app
}

/** Read only when Prometheus asks, and the same in all processes. While the store is away, it tells nothing. */
export function addNoticeMetrics (target: PrometheusRegistry, notices: Service['notices']): void {
  const waiting: Gauge = new Gauge({
    name: 'prompt_shell_notices_waiting',
    help: 'Things of which a receiver is not told yet',
    labelNames: ['receiver'],
    aggregator: 'max',
    registers: [target],
    async collect () {
      waiting.reset()
      const counts = await notices?.waiting().catch(() => undefined)
      for (const [receiver, count] of counts ?? []) waiting.set({ receiver }, count)
    }
  })
}

interface CacheMetrics {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly bytes: number
}

export type WatchedRegistry = Pick<Registry, 'kinds' | 'generation' | 'environs' | 'status' | 'problems'>

/** Read only when Prometheus asks. All processes hold the same entries, so the largest number is reported, not the sum. */
export function addRegistryMetrics (target: PrometheusRegistry, registry: WatchedRegistry, keyPrefix: string): void {
  const gauge = (name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void): void => {
    const created: Gauge = new Gauge({
      name: `prompt_shell_registry_${name}`,
      help,
      labelNames,
      aggregator: 'max',
      registers: [target],
      collect: () => {
        collect(created)
      }
    })
  }

  gauge('entries', 'What is registered and offered', ['kind'], entries => {
    for (const kind of registry.kinds) {
      entries.set({ kind: kind.name }, kind.reading === 'lazy' ? registry.environs.index.size : offeredOf(registry.generation, kind).size)
    }
  })
  gauge('rejected_entries', 'Keys not served as they are stored; GET /api/status/entries has the reasons', ['kind'], rejected => {
    const problems = registry.problems()
    for (const kind of registry.kinds) {
      const prefix = kindPrefix(keyPrefix, kind.key)
      rejected.set({ kind: kind.key }, problems.filter(({ key }) => key.startsWith(prefix)).length)
    }
  })
  gauge('held_kinds', 'Kinds that are held, since the store suddenly shows none', [], held => { held.set(registry.status().held.length) })
  gauge('held_nodes', 'Nodes of the store whose keys are held, since they suddenly show none', [], held => { held.set(registry.status().heldNodes.length) })
  gauge('generation', 'Generation in force, counted by this process', [], generation => {
    generation.set(registry.generation.number)
  })
  gauge('age_seconds', 'Time since all was last verified against the store; infinite before', [], age => {
    const { verifiedAt } = registry.status()
    age.set(verifiedAt === undefined ? Infinity : (Date.now() - verifiedAt.getTime()) / 1000)
  })
  gauge('store_connected', '1 while the store can be reached, else 0', [], connected => { connected.set(registry.status().store.connected ? 1 : 0) })
  gauge('changes_pushed', '1 while the store tells of changes, 0 while it is asked for them', [], pushed => {
    pushed.set(registry.status().store.changes === 'pushed' ? 1 : 0)
  })
}

export function addCacheMetrics (target: PrometheusRegistry, caches: Readonly<Record<string, () => CacheMetrics>>): void {
  const labelNames = ['cache']
  const counter = (name: string, help: string, read: (statistics: CacheMetrics) => number): void => {
    const created: Counter = new Counter({
      name: `prompt_shell_cache_${name}`,
      help,
      labelNames,
      registers: [target],
      collect () {
        created.reset()
        for (const [cache, statistics] of Object.entries(caches)) created.inc({ cache }, read(statistics()))
      }
    })
  }
  const gauge = (name: string, help: string, read: (statistics: CacheMetrics) => number): void => {
    const created: Gauge = new Gauge({
      name: `prompt_shell_cache_${name}`,
      help,
      labelNames,
      registers: [target],
      collect () {
        for (const [cache, statistics] of Object.entries(caches)) created.set({ cache }, read(statistics()))
      }
    })
  }

  counter('hits_total', 'Look-ups that found what they wanted', ({ hits }) => hits)
  counter('misses_total', 'Look-ups in vain', ({ misses }) => misses)
  gauge('entries', 'What a cache holds now', ({ entries }) => entries)
  gauge('bytes', 'Its size, as the cache counts it', ({ bytes }) => bytes)
}

export type WatchedSessions = Pick<SessionService, 'unknown' | 'running' | 'queued' | 'tally'>

/** Read only when Prometheus asks. What the store tells is the same in all processes: the largest number is reported. `kinds` bounds the label. */
export function addSessionMetrics (target: PrometheusRegistry, sessions: WatchedSessions, kinds: BoundedNames): void {
  const gauge = (name: string, help: string, labelNames: readonly string[], collect: (gauge: Gauge) => void | Promise<void>, aggregator: 'max' | 'sum' = 'max'): void => {
    const created: Gauge = new Gauge({ name: `prompt_shell_${name}`, help, labelNames, aggregator, registers: [target], collect: () => collect(created) })
  }
  const tallied = (name: string, help: string, read: (tally: Tally) => number): void => gauge(name, help, [], async created => {
    const tally = await sessions.tally()
    if (tally === undefined) created.remove()
    else created.set(read(tally))
  })

  gauge('sessions_engine_unknown', 'Sessions that wait for an engine that no process has', ['engine'], created => {
    created.reset()
    for (const [engine, count] of sessions.unknown()) created.set({ engine }, count)
  })
  gauge('sessions_running', 'Sessions of which this process performs something', ['kind'], created => {
    created.reset()
    for (const [kind, count] of sessions.running()) created.inc({ kind: kinds.take(kind) }, count)
  }, 'sum')
  gauge('sessions_queued', 'Sessions that wait for a turn in this process, by SESSION_CONCURRENCY or running= of a token', [], created => { created.set(sessions.queued()) }, 'sum')
  gauge('sessions_open', 'Sessions of all processes that have not ended, with child sessions: running, waiting_input or waiting_approval; beyond 32,000 some are (unread)', ['kind', 'state'], async created => {
    const tally = await sessions.tally()
    created.reset()
    for (const { kind, status: state, count } of tally?.open ?? []) created.inc({ kind: kinds.take(kind), state }, count)
    if (tally !== undefined && tally.unread > 0) created.set({ kind: '(unread)', state: '(unread)' }, tally.unread)
  })
  tallied('sessions_due', 'Sessions of all processes that have to go on, and that none has taken', ({ due }) => due)
  tallied('sessions_due_age_seconds', 'For how long the first of them has waited; 0 without any', ({ overdue }) => overdue / 1000)
  tallied('sessions_approval_age_seconds', 'For how long the oldest approval of all processes has waited; 0 without any', ({ asked }) => asked === undefined ? 0 : Math.max(0, Date.now() - asked) / 1000)
}
