import type { Caller } from './access/caller.ts'
import type { Rates } from './access/rates.ts'
import type { Owners } from './access/token-table.ts'
import { type Config, mediaTokensIn } from './config/config.ts'
import type { OperatorFile } from './config/operator.ts'
import { readOffered } from './config/service-files.ts'
import { KINDS, ON_DEMAND } from './registry/kind-table.ts'
import { environKind, Environs } from './registry/kinds/environ-kind.ts'
import type { CacheCounts } from './registry/entries/template-cache.ts'
import type { Kind } from './registry/kinds/entry-kind.ts'
import { Registry } from './registry/registry.ts'
import type { Log } from './runtime/telemetry.ts'
import { type ChatWithPrompt, createPromptChat, createToolLoop } from './service/chat/chat-with-prompt.ts'
import { CountedModels, createLlmFunctions, type LlmFunctions } from './service/chat/models.ts'
import { Budgets } from './service/budgets.ts'
import { type ChoosePrompt, createPromptChoice } from './service/choose-prompt.ts'
import { createSkillRenderer, readSkillPrompts } from './service/skill-prompts.ts'
import { createModels, modelOfSkills, openRates, openUsage, pricesFrom, operatorFrom } from './service/from-config.ts'
import { LabelMoves } from './service/label-moves.ts'
import { type CountEnvironUsers, createEnvironUserCounter, createUserFinder, type FindUsers } from './service/lint/find-users.ts'
import { createCandidateParser, createLinter, type LintCandidate } from './service/lint/lint-candidate.ts'
import { createNoticeList, type ListNotices } from './service/lint/list-notices.ts'
import type { Notices } from './service/notices/notices.ts'
import { Memories } from './service/memories.ts'
import { createPreviewer, type PreviewPrompt } from './service/preview-prompt.ts'
import { createCaseRunner, PromptTests, type RunCase } from './service/prompt-tests.ts'
import { createEntryCheck, createPublisher, type Publisher, VersionPublisher } from './service/publish-entry.ts'
import { createEnvironReader, type ReadEnviron } from './service/read-environ.ts'
import { createAudit, RecordStore } from './service/record-store.ts'
import { createRecordings, type Recordings } from './service/recordings.ts'
import { type ReleaseRules, Releases } from './service/releases.ts'
import { callWith, createPromptRenderer, observeRenders, recallWith, type RenderPrompt } from './service/render-prompt.ts'
import { type SessionKinds, sessionKindsOf } from './service/sessions/kind-table.ts'
import type { SessionService } from './service/sessions/session-service.ts'
import { Offers } from './service/sessions/offers.ts'
import { executorsOf, openSessions, type SessionServices, workspacesOf } from './service/sessions/open-sessions.ts'
import type { Observer, TokenUsage } from './observe/activity.ts'
import { PlanPreviews } from './service/sessions/plan-previews.ts'
import { besideSessions, openSessionStore, placeOf, sessionSealsOf } from './service/sessions/session-storage.ts'
import { createToolTrial, type TryTool } from './service/try-tool.ts'
import { UsageLedger } from './service/usage.ts'
import { VersionReader } from './service/version-reader.ts'
import type { InTurn } from './store/directory-store.ts'
import { kindPrefix, type Store, type StoreKeys } from './store/store.ts'
import type { UsageStore } from './store/usage-store.ts'
import { goLanguage } from './template/go/go-language.ts'
import { handlebarsLanguage } from './template/handlebars/handlebars-language.ts'
import type { PreparationState } from './tool/preparation.ts'
import { createToolCaller } from './tool/tool-caller.ts'
import { createToolReader, type ToolReader } from './tool/tool-reader.ts'
import type { ToolType } from './tool/tool-type.ts'
import { TOOL_TYPES } from './tool/tool-types.ts'
import { listIn } from './base/text.ts'

/** The longest wait of the start for tool servers, in ms; tools reported later are linked later. */
const TOOL_PATIENCE = 1000

/** In ms. */
const PREVIEW_PATIENCE = 1000

/** The whole service without HTTP: the registry, and the use cases that work with it. */
export interface Service extends SessionServices {
  readonly registry: Registry
  readonly keyPrefix: string
  readonly models: CountedModels
  /** For embeddings requests that name no model; empty for `LLM_MODEL`. */
  readonly embeddingModel: string
  /** For programs that use the service without HTTP; errors are returned, not thrown. */
  readonly llmFunctionsFor: (caller: Caller) => LlmFunctions
  readonly usage: UsageLedger
  readonly budgets: Budgets
  readonly rates: Rates
  /** `undefined` where `OPERATOR_FILE` has none. */
  readonly notices: Notices | undefined
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly readEnviron: ReadEnviron
  readonly findUsers: FindUsers
  readonly countEnvironUsers: CountEnvironUsers
  readonly lintCandidate: LintCandidate
  readonly previewPrompt: PreviewPrompt
  readonly listNotices: ListNotices
  readonly recordings: Recordings
  readonly tryTool: TryTool
  readonly publisher: Publisher
  readonly choosePrompt: ChoosePrompt
  readonly releases: Releases
  readonly labelMoves: LabelMoves
  readonly promptTests: PromptTests
  readonly runCase: RunCase
  readonly sessionKinds: SessionKinds
  readonly offers: Offers
  readonly planPreviews: PlanPreviews
  readonly memories: Memories
  readonly toolStates: () => ReadonlyMap<string, PreparationState>
  readonly caches: Readonly<Record<'templates' | 'environs' | 'tool_results', () => CacheCounts>>
  /** Reads the store now, in every process; if it has no entry, the entries read before are dropped at once. */
  reload (): Promise<void>
  close (): Promise<void>
}

/** Opens the store, the registry that follows it, tools, models, and the use cases on them. @throws ConfigError, StoreError */
export async function openService (config: Config, log: Log, options: {
  readonly store?: Store | undefined
  readonly kinds?: readonly Kind[] | undefined
  readonly toolTypes?: readonly ToolType[] | undefined
  /** The other processes of the service. */
  readonly peers?: {
    reload (): void
    changed (keys: readonly string[]): void
    inTurn: InTurn
    readonly usage: UsageStore
  } | undefined
  /** Without a request, a continued session has the rights of its owner. @default no tokens */
  readonly owners?: Owners | undefined
  readonly observer?: Observer | undefined
  /** @default true; false for a program that shows them itself */
  readonly logsSessions?: boolean
} = {}): Promise<Service> {
  const { store: given, kinds = KINDS, toolTypes = TOOL_TYPES, peers, owners, observer, logsSessions = true } = options
  const offered = await readOffered(config)
  warnOfIdentities(config, offered, log)
  const seals = sessionSealsOf(config, offered)
  const executors = executorsOf(config, offered, log)
  const rates = await openRates(config, log)
  const prices = observer?.metrics.prices ?? await pricesFrom(config)
  const model = await createModels(config, process.env, log)
  const counts = model === undefined ? undefined : await openUsage(config, log, peers?.usage)
  const usage = new UsageLedger(prices, counts)
  const budgets = new Budgets(offered.budgets ?? [], prices, counts)
  const countTokens = (caller: Caller, { inputTokens, outputTokens }: TokenUsage): void => { rates.count(caller, 'tokens', inputTokens + outputTokens) }
  const models = new CountedModels(model, usage, countTokens, budgets)

  const store = given ?? await openStore(
    config.REDIS_URL === ''
      ? { directory: config.STORE_DIR, inTurn: peers?.inTurn.bind(peers) }
      : { redisUrl: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD },
    { prefix: config.KEY_PREFIX, kinds: [...kinds, ...ON_DEMAND] },
    log
  )
  const environs = new Environs({ store, prefix: kindPrefix(config.KEY_PREFIX, environKind.key), limit: config.ENVIRON_CACHE_BYTES })
  const operator = operatorFrom(config, environs, process.env)
  const notices = await openNotices(config, {
    receivers: offered.notices ?? [],
    operator,
    seals,
    log,
    metrics: observer?.metrics,
    sessions: () => sessionServices.sessions,
    records: () => publishing.records
  })
  const toolReader = createToolReader(toolTypes, operator)
  const tools = createToolCaller({ types: toolTypes, operator, log, changed: () => { registry.relink() } })
  const languages = [handlebarsLanguage, goLanguage]
  const registry = new Registry({
    kinds,
    store,
    environs,
    toolReader,
    registerTools: tools.register,
    toolProblems: tools.problems,
    keyPrefix: config.KEY_PREFIX,
    languages,
    pollInterval: config.POLL_INTERVAL_MS,
    emptyHold: config.EMPTY_HOLD_MS,
    log,
    onServed: observer?.metrics.served,
    onStore: reason => { notices?.tellOfStore('registrations', reason) }
  })

  const callTool = callWith(tools)
  const render = createPromptRenderer({ environs, callTool, recallTool: recallWith(tools), timeout: config.RENDER_TIMEOUT_MS })
  const renderPrompt = observeRenders(render)
  const toolLoop = createToolLoop({ models, callTool: tools.call })

  // Each has a queue and a process of its own, so that people who check or edit prompts never hold up publishing.
  const [lints, previews] = [createCandidateParser(), createCandidateParser(PREVIEW_PATIENCE)]
  const versions = new VersionReader(store, config.KEY_PREFIX, registry.templates)
  const publishing = openPublishing({
    config,
    store,
    registry,
    environs,
    toolReader,
    versions,
    log,
    notices,
    looks: offered.labels ?? new Map(),
    onChanged: keys => peers?.changed(keys),
    onMoved: observer?.metrics.onLabel.moved
  })

  const choosePrompt = createPromptChoice(versions, config.DEFAULT_LABEL, observer?.metrics.onLabel.missed)
  const chatOptions = {
    models,
    toolLoop,
    systemMessage: config.CHAT_SYSTEM_MESSAGE,
    mediaTokens: mediaTokensIn(config.MEDIA_TOKENS),
    total: config.LLM_TIMEOUT_MS
  }

  const promptTests = new PromptTests(store, config.KEY_PREFIX)
  const runCase = createCaseRunner({ renderPrompt: render, chatWithPrompt: createPromptChat({ ...chatOptions, renderPrompt: render }), choosePrompt, environs })
  const labelMoves = new LabelMoves({ releases: publishing.releases, registry, promptTests, runCase, sessions: () => sessionServices.sessions })
  const loadWorkspaces = workspacesOf(offered, config)
  const offers = new Offers(offered, executors)
  const sessionKinds = sessionKindsOf({
    config,
    operator: offered,
    readPrompts: readSkillPrompts,
    offers,
    // Looked up late: `sessionServices.terminals` is made from this object, further below.
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
    labelMoves,
    owners,
    observer,
    logsLines: logsSessions,
    notices
  })

  notices?.open(registry, budgets)
  await registry.start()
  await tools.prepared(TOOL_PATIENCE)
  return {
    registry,
    keyPrefix: config.KEY_PREFIX,
    models,
    embeddingModel: config.LLM_EMBEDDING_MODEL,
    llmFunctionsFor: caller => createLlmFunctions({ models, log, caller, defaultModel: config.LLM_MODEL, defaultEmbeddingModel: config.LLM_EMBEDDING_MODEL }),
    usage,
    budgets,
    rates,
    notices,
    renderPrompt,
    chatWithPrompt: createPromptChat({ ...chatOptions, renderPrompt }),
    readEnviron: createEnvironReader(environs, config.RENDER_TIMEOUT_MS),
    findUsers: createUserFinder(environs),
    countEnvironUsers: createEnvironUserCounter(environs),
    lintCandidate: createLinter(lints, environs, versions),
    previewPrompt: createPreviewer({
      lintCandidate: createLinter(previews, environs, versions),
      languages,
      versions,
      environs,
      // A preview is no render of the prompt; its bundle comes back beside the prompt, so it gets half of the largest body.
      renderPrompt: render,
      recordings: createRecordings({ renderPrompt: render, environs, callTool, maxBody: config.BODY_LIMIT_BYTES / 2 })
    }),
    listNotices: createNoticeList(registry, config.KEY_PREFIX),
    recordings: createRecordings({ renderPrompt, environs, callTool, maxBody: config.BODY_LIMIT_BYTES }),
    tryTool: createToolTrial(tools),
    publisher: publishing.publisher,
    choosePrompt,
    releases: publishing.releases,
    labelMoves,
    promptTests,
    runCase,
    ...sessionServices,
    sessionKinds,
    offers,
    planPreviews: new PlanPreviews(sessionServices.sessions, loadWorkspaces),
    memories: new Memories(offered, loadWorkspaces),
    toolStates: tools.states,
    caches: { templates: registry.templates.statistics, environs: () => environs.statistics(), tool_results: tools.cacheStatistics },
    async reload () {
      peers?.reload()
      await registry.reload()
    },
    async close () {
      await sessionServices.sessions.close()
      await registry.stop()
      await notices?.close()
      await Promise.all([lints.close(), previews.close(), publishing.close(), tools.close(), store.close(), rates.close(), usage.close(), model?.close()])
    }
  }
}

function openPublishing ({ config, store, registry, environs, toolReader, versions, log, notices, looks, onChanged, onMoved }: {
  readonly config: Config
  readonly store: Store
  readonly registry: Registry
  readonly environs: Environs
  readonly toolReader: ToolReader
  readonly versions: VersionReader
  readonly log: Log
  readonly notices: Notices | undefined
  readonly looks: ReleaseRules['looks']
  /** Called before the registry reads the keys again. */
  readonly onChanged: (keys: readonly string[]) => void
  readonly onMoved?: ((label: string) => void) | undefined
}) {
  const keyPrefix = config.KEY_PREFIX
  const parser = createCandidateParser()
  const records = new RecordStore(store, keyPrefix, notices)
  const audit = createAudit(log, onMoved)

  async function follow (keys: readonly string[]): Promise<void> {
    onChanged(keys)
    await registry.follow(keys)
  }

  const isRecording = config.VERSIONS === 'http' || (config.VERSIONS === 'auto' && config.REDIS_URL !== '')
  const publisher = createPublisher({
    store,
    registry: { follow },
    checkEntry: createEntryCheck(createLinter(parser, environs, versions), toolReader),
    keyPrefix,
    versions: new VersionPublisher({ store, keyPrefix, records, isPinned: (id, n) => registry.isPinned(id, n) }),
    isRecording,
    audit
  })
  const rules = { isRecording, defaultLabel: config.DEFAULT_LABEL, protectedLabels: new Set(listIn(config.PROTECTED_LABELS)), looks }
  const releases = new Releases({ store, keyPrefix, registry: { follow }, records, versions, publisher, rules, audit })
  return { publisher, releases, records, close: () => parser.close() }
}

function warnOfIdentities ({ AUTH_ISSUER: issuer }: Config, { identities = [] }: OperatorFile, log: Log): void {
  if (issuer === '' && identities.length > 0) log.warn({}, 'identities in OPERATOR_FILE let nobody in without AUTH_ISSUER')
}

/** Their code is loaded only where there are any. @throws ConfigError, SessionStoreError */
async function openNotices (config: Config, { sessions, records, ...options }: Omit<ConstructorParameters<typeof Notices>[0], 'config' | 'store' | 'isTrue'> & {
  readonly sessions: () => SessionService
  readonly records: () => RecordStore
}): Promise<Notices | undefined> {
  if (options.receivers.length === 0) return undefined
  const [{ Notices: Loaded, wasWritten }, store] = await Promise.all([
    import('./service/notices/notices.ts'), openSessionStore(besideSessions(placeOf(config), 'notices'), { log: options.log })
  ])
  return new Loaded({
    ...options,
    config,
    store,
    // Looked up late: sessions and records tell their notices before they change.
    isTrue: async proof => {
      if ('session' in proof) return await sessions().use(({ store: written }) => wasWritten(written, proof))
      const { record: { moves } } = await records().read(proof.prompt)
      return moves.some(({ label, at }) => label === proof.label && at === proof.at) || undefined
    }
  })
}

/** Opens Redis even while it is away. @throws StoreError for a wrong URL, or when there is no such folder */
export async function openStore (
  /** `inTurn` keeps the processes of one service from writing at the same time; Redis needs no such help. */
  place: { readonly directory: string, readonly inTurn?: InTurn | undefined } | { readonly redisUrl: string, readonly sentinelPassword: string },
  keys: StoreKeys,
  log: Log
): Promise<Store> {
  // A start should load the packages of only one kind of store.
  if ('directory' in place) {
    const { createDirectoryStore } = await import('./store/directory-store.ts')
    return await createDirectoryStore({ directory: place.directory, keys, log, inTurn: place.inTurn })
  }
  const { createRedisStore } = await import('./store/redis/redis-store.ts')
  return createRedisStore({ url: place.redisUrl, sentinelPassword: place.sentinelPassword, keys, log })
}
