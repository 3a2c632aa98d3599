import type { Caller } from './access/caller.ts'
import type { Rates } from './access/rates.ts'
import type { Owners } from './access/token-table.ts'
import { type Config, labelsIn, mediaTokensIn } from './config/config.ts'
import { readOffered } from './config/service-files.ts'
import { KINDS, ON_DEMAND } from './registry/kind-table.ts'
import { environKind, Environs } from './registry/kinds/environ-kind.ts'
import type { Kind } from './registry/kinds/entry-kind.ts'
import { Registry } from './registry/registry.ts'
import type { Log } from './runtime/telemetry.ts'
import { type ChatWithPrompt, createPromptChat, createToolLoop } from './service/chat/chat-with-prompt.ts'
import { CountedModels, createLlmFunctions, type LlmFunctions, UsageCounter } from './service/chat/models.ts'
import { type ChoosePrompt, createPromptChoice } from './service/choose-prompt.ts'
import { createModels, modelOfSkills, openRates, operatorFrom } from './service/from-config.ts'
import { createUserFinder, type FindUsers } from './service/lint/find-users.ts'
import { createCandidateParser, createLinter, type LintCandidate } from './service/lint/lint-candidate.ts'
import { createNoticeList, type ListNotices } from './service/lint/list-notices.ts'
import { Memories } from './service/memories.ts'
import { createPreviewer, type PreviewPrompt } from './service/preview-prompt.ts'
import { createCaseRunner, PromptTests, type RunCase } from './service/prompt-tests.ts'
import { createEntryCheck, createPublisher, type Publisher } from './service/publish-entry.ts'
import { VersionPublisher } from './service/publish-version.ts'
import { createEnvironReader, type ReadEnviron } from './service/read-environ.ts'
import { createAudit, RecordStore } from './service/record-store.ts'
import { createRecordings, type Recordings } from './service/recordings.ts'
import { Releases } from './service/releases.ts'
import { callWith, createPromptRenderer, observeRenders, recallWith, type RenderPrompt } from './service/render-prompt.ts'
import { type SessionKinds, sessionKindsOf } from './service/sessions/kind-table.ts'
import { ForeignSkills, Offers } from './service/sessions/offers.ts'
import { executorsOf, openSessions, type SessionServices, workspacesOf } from './service/sessions/open-sessions.ts'
import type { SessionObserver } from './service/sessions/performer.ts'
import { PlanPreviews } from './service/sessions/plan-previews.ts'
import { sessionSealsOf } from './service/sessions/session-storage.ts'
import { createSkillRenderer, readSkillPrompts } from './service/skill-prompts.ts'
import { createToolTrial, type TryTool } from './service/try-tool.ts'
import { VersionReader } from './service/version-reader.ts'
import type { InTurn } from './store/directory-store.ts'
import { kindPrefix, type Store, type StoreKeys } from './store/store.ts'
import { goLanguage } from './template/go/go-language.ts'
import { handlebarsLanguage } from './template/handlebars/handlebars-language.ts'
import type { PreparationState } from './tool/preparation.ts'
import { createToolCaller } from './tool/tool-caller.ts'
import { createToolReader, type ToolReader } from './tool/tool-reader.ts'
import type { ToolType } from './tool/tool-type.ts'
import { TOOL_TYPES } from './tool/tool-types.ts'

/** How long the start of the service waits for tool servers to report their tools, in ms. When a server reports later, its tools are linked later. */
const TOOL_PATIENCE = 1000

/** The longest time for parsing a previewed prompt, in ms. */
const PREVIEW_PATIENCE = 1000

/** The other processes of the same service, which serve the same registrations. */
export interface Peers {
  /** Makes all other processes read the store now. */
  reload (): void
  /** Tells all other processes which keys of the store this process has written or removed. A store that has to be polled would tell them late. */
  changed (keys: readonly string[]): void
  /** Runs `work` while no other process of the service runs work by its `inTurn`. The caller must wait for one call in this process before the next. */
  inTurn<T> (work: () => Promise<T>): Promise<T>
}

export interface ServiceOptions {
  /** A store in place of the configured one. */
  readonly store?: Store | undefined
  /** The kinds of registrations that the service knows (such as prompts, tools and agents). @default all kinds of the service */
  readonly kinds?: readonly Kind[] | undefined
  /** The types of tools that can be registered. @default all types of the service */
  readonly toolTypes?: readonly ToolType[] | undefined
  readonly peers?: Peers | undefined
  /** The holders of API tokens. A session that continues without a request has the rights of its owner. @default there are no tokens */
  readonly owners?: Owners | undefined
  readonly sessionObserver?: SessionObserver | undefined
  /** Whether the log lines of sessions go to the service's log. @default true; false for a program that shows them itself */
  readonly logsSessions?: boolean
  /**
   * Called with labels (names, such as `production`, that stand for a version of a prompt). `moved` gets each label that was moved or removed.
   * `missed` gets the label of a caller's token, or the default label, when a prompt does not have it.
   */
  readonly onLabel?: { moved (label: string): void, missed (label: string): void }
  /** Called with the time, in ms, from the arrival of a batch of changes until requests are answered from all of them; see `RegistryOptions`. */
  readonly onServed?: (milliseconds: number) => void
}

/** The counts of each cache, by the name of the cache in metrics. */
export type CacheStatistics = Readonly<Record<'templates' | 'environs' | 'tool_results', () => CacheCounts>>

/** The hits and misses of a cache since the start of the service, and its size now. */
export interface CacheCounts {
  readonly hits: number
  readonly misses: number
  readonly entries: number
  readonly bytes: number
}

/** The whole service without HTTP: the registry (all registered prompts, tools and so on), and the use cases that work with it. */
export interface Service extends SessionServices {
  readonly registry: Registry
  /** The prefix of all keys in the store. */
  readonly keyPrefix: string
  readonly models: CountedModels
  /** The model for embeddings requests that name no model; empty for the default of the model client (`LLM_MODEL`). */
  readonly embeddingModel: string
  /**
   * Gives the two functions that call a language model (chat, embeddings) for programs that use the service without HTTP. Instead of throwing an
   * error, they return it.
   */
  readonly llmFunctionsFor: (caller: Caller) => LlmFunctions
  /** The counts of model calls, and of their tokens, since the start of the service. */
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
  /** The targets, workspaces and skills that the operator offers to sessions. */
  readonly offers: Offers
  readonly planPreviews: PlanPreviews
  readonly memories: Memories
  /** For each registration of tools, by its id: whether it is being prepared, is ready, or has failed. */
  readonly toolStates: () => ReadonlyMap<string, PreparationState>
  readonly caches: CacheStatistics
  /** Reads the store now, in every process of the service. If the store has no entry, the entries that were read from it before are dropped at once. */
  reload (): Promise<void>
  /** Stops working on sessions and following the store, and closes connections and child processes. */
  close (): Promise<void>
}

/**
 * Opens the service: the store, the registry that follows the store, tools and models, and the use cases that work with all these. HTTP, the
 * command line and tests use the service that this function returns.
 * @throws ConfigError, StoreError
 */
export async function openService (config: Config, log: Log, options: ServiceOptions = {}): Promise<Service> {
  const { store: given, kinds = KINDS, toolTypes = TOOL_TYPES, peers, owners, sessionObserver, logsSessions = true, onServed, onLabel } = options
  const offered = await readOffered(config)
  const seals = sessionSealsOf(config, offered)
  const executors = executorsOf(config, offered, log)
  const rates = await openRates(config, log)
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
    toolProblems: tools.problems,
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

  // Lints, previews and publishing each have a queue and a process of their own. So people who check or edit prompts do not keep others from publishing.
  const [lints, previews] = [createCandidateParser(), createCandidateParser(PREVIEW_PATIENCE)]
  const versions = new VersionReader({ store, keyPrefix: config.KEY_PREFIX, cache: registry.templates })
  const publishing = openPublishing({
    config,
    store,
    registry,
    environs,
    toolReader,
    versions,
    log,
    onChanged: keys => peers?.changed(keys),
    onMoved: onLabel?.moved
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
    // `sessionServices.terminals` does not exist yet: it is made from this object, further below. So it is looked up when the method is called.
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
      // A preview does not count as a render of the prompt. The client sends back the preview's bundle (recorded data) together with the prompt, so
      // the bundle gets half of the largest request body.
      renderPrompt: render,
      recordings: createRecordings({ renderPrompt: render, environs, callTool, maxBody: config.BODY_LIMIT_BYTES / 2 })
    }),
    listNotices: createNoticeList(registry, config.KEY_PREFIX),
    recordings: createRecordings({ renderPrompt, environs, callTool, maxBody: config.BODY_LIMIT_BYTES }),
    tryTool: createToolTrial({ tools }),
    publisher: publishing.publisher,
    choosePrompt,
    releases: publishing.releases,
    promptTests: new PromptTests(store, config.KEY_PREFIX),
    // A test does not count as a render of the prompt.
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
      await Promise.all([lints.close(), previews.close(), publishing.close(), tools.close(), store.close(), rates.close(), model?.close()])
    }
  }
}

function openConfiguredStore (config: Config, kinds: readonly Kind[], log: Log, peers: Peers | undefined): Promise<Store> {
  const place = config.REDIS_URL === ''
    ? { directory: config.STORE_DIR, inTurn: peers?.inTurn.bind(peers) }
    : { redisUrl: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD }
  return openStore(place, { prefix: config.KEY_PREFIX, kinds: [...kinds, ...ON_DEMAND] }, log)
}

interface OpenPublishingOptions {
  readonly config: Config
  readonly store: Store
  readonly registry: Registry
  readonly environs: Environs
  readonly toolReader: ToolReader
  readonly versions: VersionReader
  readonly log: Log
  /** Called with the keys that this process has written or removed, before the registry reads them again. */
  readonly onChanged: (keys: readonly string[]) => void
  /** Called with each label that was moved or removed. */
  readonly onMoved?: ((label: string) => void) | undefined
}

/** The operations that write to the store: on entries (prompts, tools, agents …), versions of prompts, and labels. */
interface Publishing {
  readonly publisher: Publisher
  readonly releases: Releases
  /** Ends the process that parses new entries. */
  close (): Promise<void>
}

/** Sets up the use cases that write registrations: entries, versions of prompts, and labels. */
function openPublishing ({ config, store, registry, environs, toolReader, versions, log, onChanged, onMoved }: OpenPublishingOptions): Publishing {
  const keyPrefix = config.KEY_PREFIX
  const parser = createCandidateParser()
  const records = new RecordStore(store, keyPrefix)
  const audit = createAudit(log, onMoved)

  async function follow (keys: readonly string[]): Promise<void> {
    onChanged(keys)
    await registry.follow(keys)
  }

  const publisher = createPublisher({
    store,
    registry: { follow },
    checkEntry: createEntryCheck({ lintCandidate: createLinter({ parser, environs, versions }), toolReader }),
    keyPrefix,
    versions: new VersionPublisher({ store, keyPrefix, records, pinsOf: id => registry.pinsOf(id) }),
    isRecording: config.VERSIONS === 'http' || (config.VERSIONS === 'auto' && config.REDIS_URL !== ''),
    audit
  })
  const protectedLabels = new Set(labelsIn(config.PROTECTED_LABELS))
  const releases = new Releases({ store, keyPrefix, registry: { follow }, records, versions, publisher, protectedLabels, audit })
  return { publisher, releases, close: () => parser.close() }
}

/** The place of the store that the operator has configured: a folder or a Redis. The store holds the entries (prompts, tools …) that programs register. */
type StorePlace =
  /** `inTurn` keeps the processes of one service from writing into the folder at the same time. Redis needs no such help. */
  | { readonly directory: string, readonly inTurn?: InTurn | undefined }
  /** The URL of a Redis store, in a form that `parseRedisUrl` describes, and the password for its Sentinels. */
  | { readonly redisUrl: string, readonly sentinelPassword: string }

/**
 * Opens the configured store. A store over Redis opens even while Redis is away.
 * @throws StoreError when the URL is not in a form that `parseRedisUrl` describes, or when there is no such folder
 */
export async function openStore (place: StorePlace, keys: StoreKeys, log: Log): Promise<Store> {
  // Each kind of store brings packages of its own, and a start should load only one of them.
  if ('directory' in place) {
    const { createDirectoryStore } = await import('./store/directory-store.ts')
    return await createDirectoryStore({ directory: place.directory, keys, log, inTurn: place.inTurn })
  }
  const { createRedisStore } = await import('./store/redis/redis-store.ts')
  return createRedisStore({ url: place.redisUrl, sentinelPassword: place.sentinelPassword, keys, log })
}
