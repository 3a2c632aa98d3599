import { type Ask, DEFAULT_MAX_REPLY_BYTES, DEFAULT_TIMEOUTS, type Layer, type ModelClient, type ModelLog, type ModelTimeouts, type ModelUpstream } from '../model-client.ts'
import { openBuiltin } from '../provider/builtin-model.ts'
import { ECHO_URL, EchoModel } from '../provider/echo-model.ts'
import { HttpModel } from '../provider/http-model.ts'
import { parseBaseUrl } from '../provider/upstream-address.ts'
import { DEFAULT_LIMITS, limit } from './limit.ts'
import { ModelRouter, type RoutedProvider } from './model-router.ts'
import { observe } from './observe.ts'
import { type ProviderConfig } from './providers.ts'
import { DEFAULT_RETRY, retry, type RetryPolicy } from './retry.ts'
import { tolerateFormat } from './tolerate-format.ts'

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

function openProvider ({ name, baseUrl, apiKey, models, aliases, headers, limits }: ProviderConfig, options: SharedModelOptions): RoutedProvider {
  if (baseUrl === ECHO_URL) return { name, models, aliases, upstream: through([observe(name)], openBuiltin(new EchoModel())) }
  const { maxReplyBytes = DEFAULT_MAX_REPLY_BYTES, retry: policy = DEFAULT_RETRY } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const address = parseBaseUrl(baseUrl)
  const log = options.log && withFacts(options.log, { provider: name, address: address.origin })
  const model = new HttpModel({ address, headers, timeouts, maxReplyBytes, log, ...(apiKey === undefined ? {} : { apiKey }) })
  const layers = [observe(name), limit(name, { ...limits, wait: MAX_QUEUE_WAIT }), tolerateFormat(), retry({ provider: name, policy, total: timeouts.total, log })]
  return { name, models, aliases, upstream: through(layers, model) }
}

/** The same upstream, asked through layers: the first one sees a call first. */
function through (layers: readonly Layer[], upstream: ModelUpstream): ModelUpstream {
  const ask = layers.reduceRight<Ask>((inner, layer) => layer(inner), operation => upstream.ask(operation))
  return { ask, close: () => upstream.close() }
}

/** The same log, every line with further facts. */
function withFacts (log: ModelLog, facts: object): ModelLog {
  return { warn: (more, message) => log.warn({ ...facts, ...more }, message) }
}
