import { setTimeout as sleep } from 'node:timers/promises'
import type { Attributes } from '@opentelemetry/api'
import { LRUCache } from 'lru-cache'
import { modelAuth, modelBusy, modelNotFound, modelRateLimited, modelUpstream, ServiceError } from '../base/errors.ts'
import { contentHash, type Json, stringifyJson } from '../base/json.ts'
import type { AskedProvider, ModelCall } from '../observe/activity.ts'
import type { Log } from '../runtime/telemetry.ts'
import { usageOfReply, usageOfStream } from './usage.ts'
import { beginningOf } from '../base/text.ts'
import { NoSlotError, type ReleaseSlot, type SlotLimits, Slots } from '../runtime/concurrency.ts'
import { type CallerSignal, Deadline, type DeadlineReasons, toAbortSignal } from '../runtime/deadline.ts'
import { BuiltinModel, echo, followScript, type ReplyRule } from './builtin-model.ts'
import {
  type Answers, type Ask, type AttemptCount, beginTally, type CallOptions, DEFAULT_MAX_REPLY_BYTES, DEFAULT_TIMEOUTS, ECHO_URL, holdUntilOver, isBuiltin,
  type Layer, type ModelClient, type ModelDescription, type ModelTimeouts, type ModelUpstream, type Operation, type OperationKind,
  parseBaseUrl, SCRIPT_URL, type UpstreamAddress, withOptions
} from './model-client.ts'
import { HttpModel } from './http-model.ts'
import { changed, memberOf, type ModelRequest } from './model-request.ts'
import { UpstreamError, UpstreamRefusal } from './upstream-error.ts'
import type { ProviderConfig } from './providers.ts'

interface RoutedProvider {
  readonly name: string
  readonly upstream: ModelUpstream
  /** Empty for the API that takes every name which no other lists. */
  readonly models: readonly string[]
  readonly aliases: Readonly<Record<string, string>>
}

interface Route {
  readonly provider: RoutedProvider
  readonly model: string | undefined
}

const FALLBACK_CODES: ReadonlySet<string> = new Set(['LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY'])

/** In characters. A caller can write any text as a name, and it must fill neither the log nor a refusal. */
const MAX_SHOWN_NAME = 200

/** Chooses a model API by the model's name. A fallback is asked only before the first byte of an answer. */
class ModelRouter implements ModelClient {
  readonly #providers: readonly [RoutedProvider, ...RoutedProvider[]]
  readonly #shared: SharedModelOptions
  readonly #routes = new Map<string, Route>()
  readonly #catchAll: RoutedProvider | undefined

  constructor (providers: readonly [RoutedProvider, ...RoutedProvider[]], shared: SharedModelOptions) {
    this.#providers = providers
    this.#shared = shared
    for (const provider of providers) {
      for (const model of provider.models) this.#register(model, { provider, model })
      for (const [alias, model] of Object.entries(provider.aliases)) this.#register(alias, { provider, model })
    }
    this.#catchAll = providers.find(provider => provider.models.length === 0)
  }

  async ask<Kind extends OperationKind> ({ kind, request, call }: Operation<Kind>): Promise<Answers[Kind]> {
    const { timeouts, log } = this.#shared
    const routes = this.#routesOf(kind, request, call)
    // For all the models that are asked in turn.
    const { deadline = performance.now() + (timeouts?.total ?? DEFAULT_TIMEOUTS.total), tally = beginTally() } = call
    const options = withOptions(call, { deadline, tally })
    for (;;) {
      const { provider, model } = routes.shift() as Route
      try {
        return await provider.upstream.ask({ kind, request: withModel(request, model), call: options })
      } catch (error) {
        if (routes.length === 0 || !isFallbackCase(error) || performance.now() >= deadline) throw error
        log?.warn(
          { requestId: call.requestId, provider: provider.name, model: loggedName(model), fallback: loggedName(routes[0]?.model), err: error },
          'falling back to another model'
        )
      }
    }
  }

  get defaultModel (): string | undefined {
    return this.#shared.model
  }

  models (): readonly ModelDescription[] {
    const defaultModel = this.#shared.model
    const known = Array.from(this.#routes, ([id, { provider }]) => ({ id, provider: provider.name }))
    if (defaultModel === undefined || this.#routes.has(defaultModel)) return known
    return [{ id: defaultModel, provider: (this.#catchAll ?? this.#providers[0]).name }, ...known]
  }

  async close (): Promise<void> {
    await Promise.all(this.#providers.map(({ upstream }) => upstream.close()))
  }

  /** Records which API has the model with this name. If several APIs list the name, the first one keeps it. */
  #register (name: string, route: Route): void {
    if (!this.#routes.has(name)) this.#routes.set(name, route)
  }

  /** In the order to ask. @throws MODEL_NOT_FOUND */
  #routesOf (kind: OperationKind, request: ModelRequest, call: CallOptions): Route[] {
    const first = this.#route(request)
    // Embeddings of another model cannot be compared with those of the requested one.
    if (kind === 'embeddings') return [first]
    const { fallbacks = this.#shared.fallbacks ?? [] } = call
    return withoutRepeats([first, ...fallbacks.flatMap(name => this.#find(name) ?? [])])
  }

  #route (request: ModelRequest): Route {
    const [first] = this.#providers
    const asked = memberOf(request, 'model') ?? this.#shared.model
    if (typeof asked !== 'string') return { provider: first, model: asked === undefined ? first.models[0] : undefined }
    const route = this.#find(asked)
    if (route === undefined) throw modelNotFound(beginningOf(asked, MAX_SHOWN_NAME), [...this.#routes.keys()])
    return route
  }

  #find (name: string): Route | undefined {
    const catchAll = this.#catchAll
    return this.#routes.get(name) ?? (catchAll === undefined ? undefined : { provider: catchAll, model: name })
  }
}

/** A model that has failed is not asked again because a fallback, or an alias, names it as well. */
function withoutRepeats (routes: readonly Route[]): Route[] {
  return routes.filter(({ provider, model }, index) => routes.findIndex(other => other.provider === provider && other.model === model) === index)
}

function withModel (request: ModelRequest, model: string | undefined): ModelRequest {
  return model === undefined || memberOf(request, 'model') === model ? request : changed(request, { model })
}

function loggedName (model: string | undefined): string | undefined {
  return model === undefined ? undefined : beginningOf(model, MAX_SHOWN_NAME)
}

function isFallbackCase (error: unknown): boolean {
  return error instanceof ServiceError && FALLBACK_CODES.has(error.code)
}

export interface SharedModelOptions {
  readonly model?: string
  readonly fallbacks?: readonly string[]
  readonly timeouts?: Partial<ModelTimeouts>
  /** In bytes. */
  readonly maxReplyBytes?: number
  readonly script?: readonly ReplyRule[]
  readonly retry?: RetryPolicy
  readonly log?: Log
}

/** How long a call waits for its turn under the concurrency limit, in ms. */
const MAX_QUEUE_WAIT = 5000

export function createModelClients (providers: readonly [ProviderConfig, ...ProviderConfig[]], options: SharedModelOptions): ModelClient {
  const [first, ...others] = providers
  return new ModelRouter([openProvider(first, options), ...others.map(provider => openProvider(provider, options))], options)
}

function openProvider (provider: ProviderConfig, options: SharedModelOptions): RoutedProvider {
  const { name, baseUrl, models, aliases, limits } = provider
  const { maxReplyBytes = DEFAULT_MAX_REPLY_BYTES, retry: policy = DEFAULT_RETRY } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const retried = { provider: name, policy, total: timeouts.total }
  // Builtin models are retried too: a failure in a script must have the effect of a failure over HTTP.
  if (isBuiltin(baseUrl)) {
    const layers = [observe({ name, attributes: { 'gen_ai.provider.name': name } }), retry({ ...retried, log: options.log })]
    return { name, models, aliases, upstream: through(layers, openBuiltin(baseUrl, options)) }
  }
  const address = parseBaseUrl(baseUrl)
  const log = options.log && withFacts(options.log, { provider: name, address: address.origin })
  const model = new HttpModel(address, provider, timeouts, maxReplyBytes, log)
  const observed = observe({ name, attributes: providerAttributes(name, address) })
  const layers = [observed, limit(name, { ...limits, wait: MAX_QUEUE_WAIT }), tolerateFormat(), retry({ ...retried, log })]
  return { name, models, aliases, upstream: through(layers, model) }
}

/** Opens the builtin model with a base URL. @throws TypeError when `builtin:script` has no script */
function openBuiltin (url: string, { script }: SharedModelOptions): ModelUpstream {
  if (url === ECHO_URL) return new BuiltinModel('echo', echo)
  if (script === undefined) throw new TypeError(`${SCRIPT_URL} needs LLM_SCRIPT_FILE, the path of a YAML file with its replies`)
  return new BuiltinModel('script', followScript(script))
}

/** The conventions' names of those that have one, by their hosts. */
const KNOWN_HOSTS: ReadonlyArray<readonly [host: RegExp, name: string]> = [
  [/(?:^|\.)api\.openai\.com$/, 'openai'],
  [/\.openai\.azure\.com$/, 'azure.ai.openai'],
  [/\.services\.ai\.azure\.com$/, 'azure.ai.inference'],
  [/^api\.anthropic\.com$/, 'anthropic'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/(?:^|-)aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^bedrock-runtime\..*\.amazonaws\.com$/, 'aws.bedrock'],
  [/^api\.cohere\.(?:ai|com)$/, 'cohere'],
  [/^api\.deepseek\.com$/, 'deepseek'],
  [/^api\.groq\.com$/, 'groq'],
  [/^api\.mistral\.ai$/, 'mistral_ai'],
  [/^api\.perplexity\.ai$/, 'perplexity'],
  [/^api\.x\.ai$/, 'x_ai']
]

function providerAttributes (name: string, { origin }: UpstreamAddress): Attributes {
  const { protocol, hostname, port } = new URL(origin)
  return {
    'gen_ai.provider.name': KNOWN_HOSTS.find(([host]) => host.test(hostname))?.[1] ?? name,
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  }
}

/** The first layer sees each call first. */
function through (layers: readonly Layer[], upstream: ModelUpstream): ModelUpstream {
  const ask = layers.reduceRight<Ask>((inner, layer) => layer(inner), operation => upstream.ask(operation))
  return { ask, close: () => upstream.close() }
}

function withFacts (log: Log, facts: object): Log {
  const line = (level: keyof Log) => (more: object, message: string) => { log[level]({ ...facts, ...more }, message) }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

/** In s. */
const BUSY_RETRY_AFTER = 1

/** Bounds concurrent calls of an API. A call counts once with its retries; a stream counts until its end. */
function limit (provider: string, limits: SlotLimits): Layer {
  const slots = new Slots(limits)
  return ask => async operation => {
    const release = await acquire(slots, operation.call.signal, provider)
    return await holdUntilOver(() => ask(operation), release)
  }
}

async function acquire (slots: Slots, signal: CallerSignal, provider: string): Promise<ReleaseSlot> {
  try {
    return await slots.acquire(signal)
  } catch (error) {
    throw error instanceof NoSlotError ? modelBusy(provider, BUSY_RETRY_AFTER) : error
  }
}

/** The time of a call includes the wait for its turn. */
function observe (provider: AskedProvider): Layer {
  return ask => operation => {
    const { kind, request, call } = operation
    const name = kind === 'embeddings' ? 'embeddings' : 'chat'
    const watch = call.activity?.beginModelCall(name, provider, memberOf(request, 'model'), memberOf(request, 'stream') === true)
    if (watch?.traced !== undefined) watch.asked(member => memberOf(request, member))
    return watch === undefined ? ask(operation) : report(watch, operation, ask({ kind, request, call: withOptions(call, { watch }) }))
  }
}

async function report<T extends Answers[OperationKind]> (watch: ModelCall, { request, call }: Operation<OperationKind>, asking: Promise<T>): Promise<T> {
  try {
    const answer = await asking
    if ('ended' in answer) {
      watch.begun()
      void answer.ended.then(end => watch.streamed(end.outcome, usageOfStream(request, end), end.model, end.reply))
    } else watch.replied(usageOfReply(request, answer.value), answer.value)
    return answer
  } catch (error) {
    watch.failed(outcomeOf(error, call))
    throw error
  }
}

function outcomeOf (error: unknown, { signal }: CallOptions): string {
  if (signal.aborted) return 'CLIENT_CLOSED'
  if (error instanceof UpstreamRefusal) return 'REFUSED'
  return error instanceof ServiceError ? error.code : 'INTERNAL'
}

/** Bounds the remembered refusals, and the model's name in each in characters: callers can invent any number of names. */
const MAX_REMEMBERED = 1000
const MAX_MODEL_NAME = 200

/** In ms. After that the format is tried again: the model perhaps knows it by then. */
const REMEMBERED_FOR = 3_600_000

/** Repeats a refused request without an optional `response_format`, and remembers model and format: another schema may be accepted. */
function tolerateFormat (): Layer {
  const refused = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: REMEMBERED_FOR })
  return ask => operation => hasOptionalFormat(operation) ? askOrDoWithout(ask, operation) : ask(operation)

  async function askOrDoWithout<Kind extends OperationKind> (ask: Ask, operation: Operation<Kind>): Promise<Answers[Kind]> {
    const { kind, request, call } = operation
    const without = changed(request, { response_format: undefined })
    // The key hashes the schema, which takes time; most services never need it.
    if (refused.size > 0 && refused.has(keyOf(request))) return await ask({ kind, request: without, call })
    try {
      return await ask(operation)
    } catch (error) {
      if (!isFormatRefusal(error)) throw error
      const answer = await ask({ kind, request: without, call })
      refused.set(keyOf(request), true)
      return answer
    }
  }
}

function hasOptionalFormat ({ request, call }: Operation<OperationKind>): boolean {
  return call.optionalFormat === true && memberOf(request, 'response_format') !== undefined
}

function keyOf (request: ModelRequest): string {
  const model = memberOf(request, 'model') ?? ''
  return `${contentHash(memberOf(request, 'response_format') as Json)} ${beginningOf(String(model), MAX_MODEL_NAME)}`
}

/** APIs share no code for this, but all name the part of the request that they do not know. */
function isFormatRefusal (error: unknown): boolean {
  if (!(error instanceof UpstreamRefusal) || ![400, 404, 422].includes(error.status)) return false
  return /response_?format|json_schema|structured.?output/i.test(stringifyJson(error.body))
}

interface RetryPolicy {
  /** In ms. */
  readonly delays: readonly number[]
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

export const DEFAULT_RETRY: RetryPolicy = {
  delays: [100, 300],
  wait: (milliseconds, signal) => sleep(milliseconds, undefined, { signal })
}

const REASONS: DeadlineReasons = {
  expired: milliseconds => new UpstreamError(`no whole reply within ${milliseconds} ms`, { retryable: false }),
  left: caller => caller.reason
}

/** In ms. When an API asks for a longer wait, the call ends at once: a fallback is asked, or the caller gets the error. */
const MAX_RETRY_AFTER = 1000

interface RetryOptions {
  readonly provider: string
  readonly policy: RetryPolicy
  /** In ms, with the waits, up to the last byte of the reply. */
  readonly total: number
  readonly log: Log | undefined
}

/** Retries within the budget, and obeys `Retry-After` up to MAX_RETRY_AFTER. Not p-retry: its 20 µs of set-up would burden every chat. */
function retry (options: RetryOptions): Layer {
  return ask => ({ kind, request, call }) => {
    const { requestId, watch, deadline = Infinity, tally = beginTally() } = call
    const budget = new Deadline(Math.max(0, Math.min(options.total, deadline - performance.now())), performance.now(), call.signal, REASONS)
    const attempt = { kind, request, call: { signal: budget.signal, requestId, watch, tally } }
    return holdUntilOver(async () => {
      for (let attempts = 1; ; attempts++) {
        tally.attempts++
        try {
          return await ask(attempt)
        } catch (error) {
          if (await waitForNext(options, call, budget, error, attempts)) continue
          call.signal.throwIfAborted()
          throw finalError(options, requestId, budget.signal.aborted ? budget.signal.reason : error, attempts, tally)
        }
      }
    }, () => budget.end())
  }
}

async function waitForNext (
  { policy, log }: RetryOptions,
  { requestId, watch }: CallOptions,
  budget: Deadline,
  error: unknown,
  attempts: number
): Promise<boolean> {
  const wait = waitBefore(error, policy.delays[attempts - 1], budget)
  if (wait === undefined) return false
  log?.warn({ requestId, attempt: attempts, wait, err: error }, 'model attempt failed, trying again')
  watch?.retried(attempts, error instanceof UpstreamError ? error.status : undefined)
  // A wait ends early only at the deadline or when the caller has left: no further attempt.
  await policy.wait(wait, toAbortSignal(budget.signal)).catch(() => {})
  return !budget.signal.aborted
}

/** In ms; `undefined` when there is no further attempt. */
function waitBefore (error: unknown, delay: number | undefined, budget: Deadline): number | undefined {
  if (delay === undefined || budget.signal.aborted) return undefined
  if (!(error instanceof UpstreamError) || !error.retryable) return undefined
  const { retryAfter = 0 } = error
  if (retryAfter > MAX_RETRY_AFTER) return undefined
  const wait = Math.max(delay, retryAfter)
  return wait < budget.remaining() ? wait : undefined
}

function finalError ({ provider, log }: RetryOptions, requestId: string, cause: unknown, attempts: number, tally: AttemptCount): unknown {
  if (!(cause instanceof UpstreamError)) return cause
  log?.warn({ requestId, attempts, err: cause }, 'model call failed')
  if (cause.status === 401 || cause.status === 403) return modelAuth(provider, cause.status)
  const retryAfter = cause.retryAfter === undefined ? undefined : Math.ceil(cause.retryAfter / 1000)
  return cause.status === 429
    ? modelRateLimited(provider, tally.attempts, retryAfter, cause.upstream)
    : modelUpstream(provider, cause.message, tally.attempts, retryAfter, cause.upstream)
}
