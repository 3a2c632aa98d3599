import { ECHO_URL, EchoModel } from '../provider/echo-model.ts'
import { FormatTolerantModel } from './format-tolerant-model.ts'
import { HttpModel } from '../provider/http-model.ts'
import { DEFAULT_LIMITS, LimitedModel } from './limited-model.ts'
import { ObservedModel } from './observed-model.ts'
import { DEFAULT_MAX_REPLY_BYTES, DEFAULT_TIMEOUTS, type ModelClient, type ModelLog, type ModelTimeouts } from '../model-client.ts'
import { ModelRouter, type RoutedProvider } from './model-router.ts'
import { type ProviderConfig } from './providers.ts'
import { DEFAULT_RETRY, type RetryPolicy } from '../provider/retry.ts'

/** What holds for all providers; what is left out has its default. */
export interface SharedModelOptions {
  /** The model of a request that names none. */
  readonly model?: string
  /** Models to ask, in this order, when the one that was asked for fails. */
  readonly fallbacks?: readonly string[]
  readonly timeouts?: Partial<ModelTimeouts>
  /** In bytes. */
  readonly maxReplyBytes?: number
  readonly retry?: RetryPolicy
  readonly log?: ModelLog
}

/** One API that takes every model. */
export interface ModelClientOptions extends SharedModelOptions {
  /** An OpenAI-compatible API, `https://api.openai.com/v1`, or `builtin:echo`. */
  readonly baseUrl: string
  readonly apiKey?: string
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly limits?: Partial<ProviderConfig['limits']>
}

/** How long a call may wait for its turn at a provider that is at its limit, in ms. */
const MAX_QUEUE_WAIT = 5000

/**
 * The client of one model API.
 * @throws TypeError for a base URL that cannot be used; its message goes after the variable's name
 */
export function createModelClient (options: ModelClientOptions): ModelClient {
  const { baseUrl, apiKey, headers = {}, limits, model = baseUrl === ECHO_URL ? 'echo' : undefined } = options
  const provider = { name: 'default', baseUrl, models: [], aliases: {}, headers, limits: { ...DEFAULT_LIMITS, ...limits }, ...(apiKey === undefined ? {} : { apiKey }) }
  return createModelClients([provider], model === undefined ? options : { ...options, model })
}

/** The client of several model APIs, as `parseProviders` gives them; the first is asked when a request names no model. */
export function createModelClients (providers: readonly [ProviderConfig, ...ProviderConfig[]], options: SharedModelOptions): ModelClient {
  const { model, fallbacks = [], log } = options
  const [first, ...others] = providers
  return new ModelRouter({
    providers: [openProvider(first, options), ...others.map(provider => openProvider(provider, options))],
    fallbacks,
    total: options.timeouts?.total ?? DEFAULT_TIMEOUTS.total,
    ...(model === undefined ? {} : { defaultModel: model }),
    ...(log === undefined ? {} : { log })
  })
}

function openProvider (provider: ProviderConfig, options: SharedModelOptions): RoutedProvider {
  const { name, models, aliases, limits } = provider
  if (provider.baseUrl === ECHO_URL) return { name, models, aliases, upstream: new ObservedModel(new EchoModel(), name) }
  const { maxReplyBytes = DEFAULT_MAX_REPLY_BYTES, retry = DEFAULT_RETRY, log } = options
  const upstream = new HttpModel({ ...provider, maxReplyBytes, retry, timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts }, ...(log === undefined ? {} : { log }) })
  const limited = new LimitedModel(new FormatTolerantModel(upstream), name, { ...limits, wait: MAX_QUEUE_WAIT })
  return { name, models, aliases, upstream: new ObservedModel(limited, name) }
}
