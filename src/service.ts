import { type Log } from './base/log.ts'
import { Rates } from './access/rates.ts'
import { asksForTokens, type Config, ConfigError, isLoopback, labelsIn, mediaTokensIn } from './config/config.ts'
import { NOTHING_OFFERED, type OperatorFile } from './config/operator.ts'
import { Environs } from './registry/kinds/environ/environs.ts'
import { type Caller } from './access/caller.ts'
import { type Owners } from './access/tokens.ts'
import { type Kind } from './registry/kinds/kind.ts'
import { environKind } from './registry/kinds/environ/environ-kind.ts'
import { KINDS, ON_DEMAND } from './registry/kind-table.ts'
import { Registry } from './registry/registry.ts'
import { createPromptChat, type ChatWithPrompt } from './service/chat/chat-with-prompt.ts'
import { CountedModels } from './service/chat/counted-models.ts'
import { createModels, modelOfSkills } from './service/chat/create-models.ts'
import { createLlmFunctions, type LlmFunctions } from './service/chat/llm-functions.ts'
import { createToolLoop } from './service/chat/tool-loop.ts'
import { UsageCounter } from './service/chat/usage-counter.ts'
import { createCandidateParser } from './service/lint/candidate-parser.ts'
import { createUserFinder, type FindUsers } from './service/lint/find-users.ts'
import { createLinter, type LintCandidate } from './service/lint/lint-candidate.ts'
import { createNoticeList, type ListNotices } from './service/lint/list-notices.ts'
import { createEntryCheck } from './service/publish/check-entry.ts'
import { createAudit } from './service/audit.ts'
import { createPublisher, type Publisher } from './service/publish/publish-entry.ts'
import { createPromptChoice, type ChoosePrompt } from './service/versions/choose-prompt.ts'
import { VersionPublisher } from './service/versions/publish-version.ts'
import { RecordStore } from './service/versions/record-store.ts'
import { Releases } from './service/release/releases.ts'
import { VersionReader } from './service/versions/version-reader.ts'
import { createPreviewer, type PreviewPrompt } from './service/preview/preview-prompt.ts'
import { PromptTests } from './service/testing/prompt-tests.ts'
import { createCaseRunner, type RunCase } from './service/testing/run-case.ts'
import { callWith, recallWith } from './service/render/call-tool.ts'
import { observeRenders } from './service/render/observe-renders.ts'
import { createEnvironReader, type ReadEnviron } from './service/render/read-environ.ts'
import { createRecordings, type Recordings } from './service/render/recordings.ts'
import { createPromptRenderer, type RenderPrompt } from './service/render/render-prompt.ts'
import { Memories } from './service/memories.ts'
import { type SessionObserver } from './service/sessions/perform/performer.ts'
import { executorsOf, openSessions, type SessionServices, workspacesOf } from './service/sessions/open-sessions.ts'
import { sessionSealsOf } from './service/sessions/storage/session-seals.ts'
import { type SessionKinds, sessionKindsOf } from './service/sessions/kinds/table.ts'
import { ForeignSkills } from './service/sessions/offers/foreign-skills.ts'
import { Offers } from './service/sessions/offers/offers.ts'
import { PlanPreviews } from './service/sessions/plan-previews.ts'
import { createSkillRenderer } from './service/sessions/kinds/render-skill.ts'
import { readSkillPrompts } from './service/skill-prompts.ts'
import { operatorFrom } from './service/tools/operator-from.ts'
import { createToolTrial, type TryTool } from './service/tools/try-tool.ts'
import { kindPrefix } from './store/keys.ts'
import { openStore } from './store/open-store.ts'
import { type SharedCounters } from './store/redis/redis-counters.ts'
import { type Store } from './store/store.ts'
import { goLanguage } from './template/go/go-language.ts'
import { handlebarsLanguage } from './template/handlebars/handlebars-language.ts'
import { type PreparationState } from './tool/call/preparation.ts'
import { createToolCaller } from './tool/call/tool-caller.ts'
import { createToolReader } from './tool/definition/tool-reader.ts'
import { type ToolType } from './tool/tool-type.ts'
import { TOOL_TYPES } from './tool/tool-types.ts'

/** How long a start waits for tool servers to report what they offer, in ms; what comes later is linked then. */
const TOOL_PATIENCE = 1000

/** How long a prompt that is only tried may be parsed, in ms. */
const PREVIEW_PATIENCE = 1000

/** The other processes of the same service, as far as what is registered concerns them. */
export interface Peers {
  /** Makes all others read the store now. */
  reload (): void
  /** Tells all others of keys that this process has written or removed: where changes are polled, nobody else does. */
  changed (keys: readonly string[]): void
  /** Does something that no two processes may do at the same time. Calls in one process must not overlap. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}

export interface ServiceOptions {
  /** In place of the configured store. */
  readonly store?: Store | undefined
  /** What can be registered. @default what the service knows */
  readonly kinds?: readonly Kind[] | undefined
  /** How tools can be reached. @default what the service knows */
  readonly toolTypes?: readonly ToolType[] | undefined
  readonly peers?: Peers | undefined
  /** Who holds the tokens, for what goes on without a request. @default there are no tokens */
  readonly owners?: Owners | undefined
  readonly sessionObserver?: SessionObserver | undefined
  /** Whether what sessions log goes to the log. @default true: false is for whoever shows it otherwise */
  readonly logsSessions?: boolean
  /** Told of labels that are moved over HTTP, and of those that a prompt does not have although they are what is to be served. */
  readonly onLabel?: { moved (label: string): void, missed (label: string): void }
  /** Called with how long a batch of changes took to be served, in ms; see `RegistryOptions`. */
  readonly onServed?: (milliseconds: number) => void
}

/** A cache's counts, by the name that its metrics have. */
export type CacheStatistics = Readonly<Record<'templates' | 'environs' | 'tool_results', () => CacheCounts>>

/** What a cache has answered since the start, and what it holds now. */
export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly bytes: number
}

/** The whole service without HTTP: what is registered, and the use cases over it. */
export interface Service extends SessionServices {
  readonly registry: Registry
  /** What all keys of the store begin with. */
  readonly keyPrefix: string
  readonly models: CountedModels
  /** For a request of embeddings that names no model; empty for the provider's. */
  readonly embeddingModel: string
  /** The calls of a model's API that give a reason in place of an exception, for programs that open the service as it is. */
  readonly llmFunctionsFor: (caller: Caller) => LlmFunctions
  /** What models have been used for since the start. */
  readonly usage: UsageCounter
  readonly rates: Rates
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly readEnviron: ReadEnviron
  readonly findUsers: FindUsers
  readonly lintCandidate: LintCandidate
  readonly previewPrompt: PreviewPrompt
  readonly listNotices: ListNotices
  readonly recordings: Recordings
  readonly tryTool: TryTool
  readonly publisher: Publisher
  readonly choosePrompt: ChoosePrompt
  readonly releases: Releases
  /** The tests that are stored beside prompts. */
  readonly promptTests: PromptTests
  readonly runCase: RunCase
  readonly sessionKinds: SessionKinds
  /** What sessions may reach. */
  readonly offers: Offers
  readonly planPreviews: PlanPreviews
  readonly memories: Memories
  /** How far the tools of a registration are, by its id. */
  readonly toolStates: () => ReadonlyMap<string, PreparationState>
  readonly caches: CacheStatistics
  /** Reads the store now, and believes it when it is empty; in every process of the service. */
  reload (): Promise<void>
  /** Ends connections, watches and child processes. */
  close (): Promise<void>
}

/**
 * Opens the service in boot order: the store, the registry that follows it, tools and models, and the use cases over
 * them. HTTP, a command line and tests use what it gives.
 * @throws ConfigError, StoreError
 */
export async function openService (config: Config, log: Log, options: ServiceOptions = {}): Promise<Service> {
  const { store: given, kinds = KINDS, toolTypes = TOOL_TYPES, peers, owners, sessionObserver, logsSessions = true, onServed, onLabel } = options
  const offered = await readOffered(config)
  refuseOpenTerminals(config, offered)
  const seals = sessionSealsOf(config, offered)
  const executors = executorsOf(config, offered, log)
  const rates = new Rates({ shared: await openCounters(config, log), prefix: `${config.KEY_PREFIX}rates:counts:` })
  const model = await createModels(config, process.env, log)
  const usage = new UsageCounter()
  const models = new CountedModels(model, usage, (caller, { inputTokens, outputTokens }) => { rates.count(caller, 'tokens', inputTokens + outputTokens) })

  const store = given ?? await openConfiguredStore(config, kinds, log, peers)
  const environs = new Environs({ store, prefix: kindPrefix(config.KEY_PREFIX, environKind.key), limit: config.ENVIRON_CACHE_BYTES })
  const operator = operatorFrom(config, environs, process.env)
  const toolReader = createToolReader(toolTypes, operator)
  const tools = createToolCaller({ types: toolTypes, operator, log, changed: () => { registry.relink() } })
  const languages = [handlebarsLanguage, goLanguage]
  const registry = new Registry({
    kinds,
    store,
    environs,
    toolReader,
    registerTools: tools.register,
    keyPrefix: config.KEY_PREFIX,
    languages,
    pollInterval: config.POLL_INTERVAL_MS,
    emptyHold: config.EMPTY_HOLD_MS,
    log,
    ...(onServed === undefined ? {} : { onServed })
  })

  const callTool = callWith(tools)
  const render = createPromptRenderer({ environs, callTool, recallTool: recallWith(tools), timeout: config.RENDER_TIMEOUT_MS })
  const renderPrompt = observeRenders(render)
  const toolLoop = createToolLoop({ models, callTool: tools.call })

  // Each use has a queue and a process of its own: readers and people who type must not keep others from publishing.
  const [lints, previews, publications] = [createCandidateParser(), createCandidateParser(PREVIEW_PATIENCE), createCandidateParser()]
  const versions = new VersionReader({ store, keyPrefix: config.KEY_PREFIX, cache: registry.templates })
  const checkEntry = createEntryCheck({ lintCandidate: createLinter({ parser: publications, environs, versions }), toolReader })

  async function follow (keys: readonly string[]): Promise<void> {
    peers?.changed(keys)
    await registry.follow(keys)
  }

  const records = new RecordStore(store, config.KEY_PREFIX)
  const audit = createAudit(log, onLabel?.moved)
  const publisher = createPublisher({
    store,
    registry: { follow },
    checkEntry,
    keyPrefix: config.KEY_PREFIX,
    versions: new VersionPublisher({ store, keyPrefix: config.KEY_PREFIX, records, pinsOf: id => registry.pinsOf(id) }),
    isRecording: config.VERSIONS === 'http' || (config.VERSIONS === 'auto' && config.REDIS_URL !== ''),
    audit
  })

  const choosePrompt = createPromptChoice({ versions, defaultLabel: config.DEFAULT_LABEL, ...(onLabel === undefined ? {} : { onFallback: onLabel.missed }) })
  const chatOptions = {
    models,
    toolLoop,
    systemMessage: config.CHAT_SYSTEM_MESSAGE,
    mediaTokens: mediaTokensIn(config.MEDIA_TOKENS),
    total: config.LLM_TIMEOUT_MS
  }

  const loadWorkspaces = workspacesOf(offered, config)
  const foreignSkills = new ForeignSkills(executors)
  const sessionKinds = sessionKindsOf({
    config,
    operator: offered,
    readPrompts: readSkillPrompts,
    foreignSkills,
    // The holder of terminals is made with the sessions, and the sessions are made with this object.
    terminals: { targetOf: async (caller, id) => await sessionServices.terminals.targetOf(caller, id) },
    model: modelOfSkills(config),
    renderSkill: createSkillRenderer(languages, renderPrompt)
  })
  const sessionServices: SessionServices = openSessions({
    config,
    operator: offered,
    executors,
    seals,
    loadWorkspaces,
    log,
    models,
    tools,
    registry,
    kinds: sessionKinds,
    owners,
    observer: sessionObserver,
    logsLines: logsSessions
  })

  await registry.start()
  await tools.prepared(TOOL_PATIENCE)
  return {
    registry,
    keyPrefix: config.KEY_PREFIX,
    models,
    embeddingModel: config.LLM_EMBEDDING_MODEL,
    llmFunctionsFor: caller => createLlmFunctions({ models, log, caller, defaultModel: config.LLM_MODEL, defaultEmbeddingModel: config.LLM_EMBEDDING_MODEL }),
    usage,
    rates,
    renderPrompt,
    chatWithPrompt: createPromptChat({ ...chatOptions, renderPrompt }),
    readEnviron: createEnvironReader({ environs, timeout: config.RENDER_TIMEOUT_MS }),
    findUsers: createUserFinder(environs),
    lintCandidate: createLinter({ parser: lints, environs, versions }),
    previewPrompt: createPreviewer({
      lintCandidate: createLinter({ parser: previews, environs, versions }),
      languages,
      versions,
      environs,
      // What is only tried counts as no render of the prompt. A bundle comes back beside a prompt, so that it has half of the body.
      renderPrompt: render,
      recordings: createRecordings({ renderPrompt: render, environs, callTool, maxBody: config.BODY_LIMIT_BYTES / 2 })
    }),
    listNotices: createNoticeList(registry, config.KEY_PREFIX),
    recordings: createRecordings({ renderPrompt, environs, callTool, maxBody: config.BODY_LIMIT_BYTES }),
    tryTool: createToolTrial({ tools }),
    publisher,
    choosePrompt,
    releases: new Releases({
      store,
      keyPrefix: config.KEY_PREFIX,
      registry: { follow },
      records,
      versions,
      publisher,
      protectedLabels: new Set(labelsIn(config.PROTECTED_LABELS)),
      audit
    }),
    promptTests: new PromptTests(store, config.KEY_PREFIX),
    // What is only tested counts as no render of the prompt.
    runCase: createCaseRunner({ renderPrompt: render, chatWithPrompt: createPromptChat({ ...chatOptions, renderPrompt: render }), choosePrompt, environs }),
    ...sessionServices,
    sessionKinds,
    offers: new Offers(offered, foreignSkills),
    planPreviews: new PlanPreviews({ ...sessionServices, loadWorkspaces }),
    memories: new Memories(offered, loadWorkspaces),
    toolStates: tools.states,
    caches: { templates: registry.templates.statistics, environs: () => environs.statistics(), tool_results: tools.cacheStatistics },
    async reload () {
      peers?.reload()
      await registry.reload()
    },
    async close () {
      await sessionServices.running.close()
      await registry.stop()
      await Promise.all([lints.close(), previews.close(), publications.close(), tools.close(), store.close(), rates.close(), model?.close()])
    }
  }
}

function openConfiguredStore (config: Config, kinds: readonly Kind[], log: Log, peers: Peers | undefined): Promise<Store> {
  const place = config.REDIS_URL === ''
    ? { directory: config.STORE_DIR, inTurn: peers?.inTurn.bind(peers) }
    : { redisUrl: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD }
  return openStore(place, { prefix: config.KEY_PREFIX, kinds: [...kinds, ...ON_DEMAND] }, log)
}

/** What the operator lets sessions reach. @throws ConfigError */
async function readOffered ({ OPERATOR_FILE: path }: Config): Promise<OperatorFile> {
  if (path === '') return NOTHING_OFFERED
  const { readOperator } = await import('./config/parse-operator.ts')
  try {
    return readOperator(path)
  } catch (error) {
    throw new ConfigError(`OPERATOR_FILE: ${(error as Error).message}`)
  }
}

/** Whoever can reach a service without tokens could type anything where terminals are allowed. @throws ConfigError */
function refuseOpenTerminals (config: Config, { targets }: OperatorFile): void {
  const open = [...targets.values()].find(({ mayOpenTerminal }) => mayOpenTerminal === true)
  if (open === undefined || asksForTokens(config) || isLoopback(config.HOST)) return
  throw new ConfigError(`AUTH=off: expected tokens or a loopback address in HOST where target "${open.name}" has terminal: true`)
}

/** What replicas count together, where they share a Redis and have something to count. */
async function openCounters (config: Config, log: Log): Promise<SharedCounters | undefined> {
  if (config.REDIS_URL === '' || !asksForTokens(config)) return undefined
  const { createRedisCounters } = await import('./store/redis/redis-counters.ts')
  return createRedisCounters({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log })
}
