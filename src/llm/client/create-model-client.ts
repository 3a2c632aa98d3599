import { type Log } from '../../base/log.ts'
import { type Ask, DEFAULT_MAX_REPLY_BYTES, DEFAULT_TIMEOUTS, type Layer, type ModelClient, type ModelTimeouts, type ModelUpstream } from '../model-client.ts'
import { BuiltinModel } from '../builtin/builtin-model.ts'
import { ECHO_URL, isBuiltin, SCRIPT_URL } from '../builtin/builtin-url.ts'
import { echo } from '../builtin/echo.ts'
import { followScript, type ReplyRule } from '../builtin/reply-script.ts'
import { HttpModel } from '../provider/http-model.ts'
import { parseBaseUrl } from '../provider/upstream-address.ts'
import { limit } from './limit.ts'
import { ModelRouter, type RoutedProvider } from './model-router.ts'
import { observe } from './observe.ts'
import { type ProviderConfig } from './providers.ts'
import { DEFAULT_RETRY, retry, type RetryPolicy } from './retry.ts'
import { tolerateFormat } from './tolerate-format.ts'

/** The options that all model APIs share. An option that is left out has its default. */
export interface SharedModelOptions {
  /** The model of a request that names none. */
  readonly model?: string
  /** The models to ask, in this order, when the requested model fails. */
  readonly fallbacks?: readonly string[]
  readonly timeouts?: Partial<ModelTimeouts>
  /** The greatest size of a reply, in bytes. */
  readonly maxReplyBytes?: number
  /** The rules that the builtin model `builtin:script` follows. */
  readonly script?: readonly ReplyRule[]
  readonly retry?: RetryPolicy
  readonly log?: Log
}

/** The longest time, in ms, that a call waits for its turn while as many calls of the model API run as the limit allows. */
const MAX_QUEUE_WAIT = 5000

/** Makes the client of several model APIs, as `parseProviders` describes them. If neither a request nor `options` names a model, the first API is asked. */
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
  const { maxReplyBytes = DEFAULT_MAX_REPLY_BYTES, retry: policy = DEFAULT_RETRY } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const retried = { provider: name, policy, total: timeouts.total }
  // A builtin model also has the layer that retries, because a failure in its script must have the same effect as a failure of an API over HTTP.
  if (isBuiltin(baseUrl)) {
    return { name, models, aliases, upstream: through([observe(name), retry({ ...retried, log: options.log })], openBuiltin(baseUrl, options)) }
  }
  const address = parseBaseUrl(baseUrl)
  const log = options.log && withFacts(options.log, { provider: name, address: address.origin })
  const model = new HttpModel({ address, headers, timeouts, maxReplyBytes, log, ...(apiKey === undefined ? {} : { apiKey }) })
  const layers = [observe(name), limit(name, { ...limits, wait: MAX_QUEUE_WAIT }), tolerateFormat(), retry({ ...retried, log })]
  return { name, models, aliases, upstream: through(layers, model) }
}

/** Opens the builtin model with a base URL. @throws TypeError when `builtin:script` has no script */
function openBuiltin (url: string, { script }: SharedModelOptions): ModelUpstream {
  if (url === ECHO_URL) return new BuiltinModel({ kind: 'echo', answer: echo })
  if (script === undefined) throw new TypeError(`${SCRIPT_URL} needs LLM_SCRIPT_FILE, the path of a YAML file with its replies`)
  return new BuiltinModel({ kind: 'script', answer: followScript(script) })
}

/** Wraps a model API in layers, the first of which sees each call first. */
function through (layers: readonly Layer[], upstream: ModelUpstream): ModelUpstream {
  const ask = layers.reduceRight<Ask>((inner, layer) => layer(inner), operation => upstream.ask(operation))
  return { ask, close: () => upstream.close() }
}

/** A log that adds some facts to every line. */
function withFacts (log: Log, facts: object): Log {
  const line = (level: keyof Log) => (more: object, message: string) => { log[level]({ ...facts, ...more }, message) }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}
