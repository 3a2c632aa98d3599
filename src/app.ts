import { type FastifyBaseLogger } from 'fastify'
import { type Config } from './config/config.ts'
import { accessFrom, corsOrigins } from './http/access-from.ts'
import { type App } from './http/app-types.ts'
import { createServer } from './http/server.ts'
import { CountedModels } from './service/chat/counted-models.ts'
import { createModels } from './service/chat/create-models.ts'
import { operatorFrom } from './service/tools/operator-from.ts'
import { Rates } from './access/rates.ts'
import { Metrics } from './observe/metrics.ts'
import { createObserver } from './observe/observer.ts'
import { addCacheMetrics, addRegistryMetrics } from './observe/registry-metrics.ts'
import { openTracer } from './observe/tracing.ts'
import { Environs } from './registry/kinds/environ/environs.ts'
import { Registry } from './registry/registry.ts'
import { createCandidateParser } from './service/lint/candidate-parser.ts'
import { createPromptChat } from './service/chat/chat-with-prompt.ts'
import { createUserFinder } from './service/lint/find-users.ts'
import { createLinter } from './service/lint/lint-candidate.ts'
import { createNoticeList } from './service/lint/list-notices.ts'
import { observeRenders } from './service/render/observe-renders.ts'
import { createEnvironReader } from './service/render/read-environ.ts'
import { createRecordings } from './service/render/recordings.ts'
import { createEntryCheck } from './service/publish/check-entry.ts'
import { createPublisher } from './service/publish/publish-entry.ts'
import { createPromptRenderer } from './service/render/render-prompt.ts'
import { createToolLoop } from './service/chat/tool-loop.ts'
import { UsageCounter } from './service/chat/usage-counter.ts'
import { createToolTrial } from './service/tools/try-tool.ts'
import { createToolCaller } from './tool/call/tool-caller.ts'
import { callWith, recallWith } from './service/render/call-tool.ts'
import { kindPrefix } from './store/keys.ts'
import { openStore } from './store/open-store.ts'
import { type SharedCounters } from './store/redis/redis-counters.ts'
import { type Store } from './store/store.ts'
import { type Siblings } from './workers/siblings.ts'
import { goLanguage } from './template/go/go-language.ts'
import { handlebarsLanguage } from './template/handlebars/handlebars-language.ts'

/** How long a start waits for tool servers to tell what they offer, in ms; what comes later is linked then. */
const TOOL_PATIENCE = 1000

/** What the service finds where it runs. */
export interface Surroundings {
  readonly store?: Store | undefined
  readonly siblings?: Siblings | undefined
}

/**
 * The whole service in boot order: the store is opened, the registry reads it, the use cases are made over both, and
 * HTTP is put in front. Closing the returned app closes everything.
 *
 * @param surroundings a store in place of the configured one; the other processes of the service, where there are several
 * @throws ConfigError, StoreError
 */
export async function createApp (config: Config, log: FastifyBaseLogger, { store: given, siblings }: Surroundings = {}): Promise<App> {
  const access = accessFrom(config)
  const rates = new Rates({ shared: await openCounters(config, log), prefix: `${config.KEY_PREFIX}rates:counts:` })
  const model = await createModels(config, process.env, log)
  const usage = new UsageCounter()
  const models = new CountedModels(model, usage, (caller, { inputTokens, outputTokens }) => { rates.count(caller, 'tokens', inputTokens + outputTokens) })
  const metrics = new Metrics(models.list().map(({ id }) => id))
  const tracer = await openTracer(process.env, log)

  const store = given ?? await openConfiguredStore(config, log, siblings)
  const environs = new Environs({ store, prefix: kindPrefix(config.KEY_PREFIX, 'environs'), limit: config.ENVIRON_CACHE_BYTES })
  const operator = operatorFrom(config, environs, process.env)
  const tools = createToolCaller({ operator, log, changed: () => { registry.relink() } })
  const registry = new Registry({
    store,
    environs,
    operator,
    registerTools: tools.register,
    keyPrefix: config.KEY_PREFIX,
    languages: [handlebarsLanguage, goLanguage],
    pollInterval: config.POLL_INTERVAL_MS,
    emptyHold: config.EMPTY_HOLD_MS,
    log,
    onServed: metrics.served
  })
  const toolLoop = createToolLoop({ models, callTool: tools.call })

  const callTool = callWith(tools)
  const renderPrompt = observeRenders(createPromptRenderer({ environs, callTool, recallTool: recallWith(tools), timeout: config.RENDER_TIMEOUT_MS }))
  const recordings = createRecordings({ renderPrompt, environs, callTool, maxBody: config.BODY_LIMIT_BYTES })
  const chatWithPrompt = createPromptChat({ renderPrompt, models, toolLoop, systemMessage: config.CHAT_SYSTEM_MESSAGE, total: config.LLM_TIMEOUT_MS })
  const readEnviron = createEnvironReader({ environs, timeout: config.RENDER_TIMEOUT_MS })
  const tryTool = createToolTrial({ tools })

  // A line and a process each: whoever may only read must not be able to keep others from publishing.
  const [lints, publications] = [createCandidateParser(), createCandidateParser()]
  const lintCandidate = createLinter({ parser: lints, environs })
  const checkEntry = createEntryCheck({ lintCandidate: createLinter({ parser: publications, environs }), operator })
  const publisher = createPublisher({ store, registry: { follow }, checkEntry, keyPrefix: config.KEY_PREFIX })

  async function follow (keys: readonly string[]): Promise<void> {
    siblings?.changed(keys)
    await registry.follow(keys)
  }

  addRegistryMetrics(metrics.registry, registry, config.KEY_PREFIX)
  addCacheMetrics(metrics.registry, { templates: registry.templates.statistics, environs: () => environs.statistics(), tool_results: tools.cacheStatistics })

  await registry.start()
  await tools.prepared(TOOL_PATIENCE)
  const app = await createServer({
    log,
    access,
    rates,
    corsOrigins: corsOrigins(config),
    registry,
    renderPrompt,
    chatWithPrompt,
    models,
    readEnviron,
    findUsers: createUserFinder(environs),
    lintCandidate,
    listNotices: createNoticeList(registry, config.KEY_PREFIX),
    recordings,
    tryTool,
    publisher,
    observer: createObserver(metrics, tracer),
    async reload () {
      siblings?.reload()
      await registry.reload()
    },
    readMetrics: () => metrics.read(siblings && (own => siblings.metrics(own))),
    onWatched: () => siblings?.watched(),
    logValues: config.LOG_VALUES,
    toolStates: tools.states,
    environPrefix: kindPrefix(config.KEY_PREFIX, 'environs'),
    renderTimeout: config.RENDER_TIMEOUT_MS,
    bodyLimit: config.BODY_LIMIT_BYTES
  })
  app.addHook('onClose', async () => {
    await registry.stop()
    await Promise.all([lints.close(), publications.close(), tools.close(), store.close(), rates.close(), model?.close(), tracer?.close()])
  })
  siblings?.attend({ collectMetrics: () => metrics.collect(), reload: () => registry.reload(), follow: keys => registry.follow(keys), watched: () => app.rotation.siblingAsked() })
  app.decorate('usage', usage)
  await app.ready()
  return app
}

function openConfiguredStore (config: Config, log: FastifyBaseLogger, siblings: Siblings | undefined): Promise<Store> {
  const place = config.REDIS_URL === ''
    ? { directory: config.STORE_DIR, inTurn: siblings?.inTurn.bind(siblings) }
    : { redisUrl: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD }
  return openStore(place, config.KEY_PREFIX, log)
}

/** What replicas count together, where they share a Redis and have something to count. */
async function openCounters (config: Config, log: FastifyBaseLogger): Promise<SharedCounters | undefined> {
  if (config.REDIS_URL === '' || config.API_TOKENS === '') return undefined
  const { createRedisCounters } = await import('./store/redis/redis-counters.ts')
  return createRedisCounters({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log })
}
