import { type Log } from '../../base/log.ts'
import { modelNotFound, ServiceError } from '../../base/errors.ts'
import { beginningOf } from '../../base/text.ts'
import {
  type Answers,
  beginTally,
  type CallOptions,
  type ModelClient,
  type ModelDescription,
  type ModelRequest,
  type ModelUpstream,
  type Operation,
  type OperationKind,
  withOptions
} from '../model-client.ts'

/** One upstream and the names that lead to it. */
export interface RoutedProvider {
  readonly name: string
  readonly upstream: ModelUpstream
  /** Empty: it takes every name that no other provider lists. */
  readonly models: readonly string[]
  /** Further names, each of one of its models. */
  readonly aliases: Readonly<Record<string, string>>
}

export interface RouterOptions {
  readonly providers: readonly [RoutedProvider, ...RoutedProvider[]]
  /** For a request that names no model. */
  readonly defaultModel?: string
  /** Models to ask when the one that was asked for fails. */
  readonly fallbacks: readonly string[]
  /** Over all models that are asked, in ms. */
  readonly total: number
  readonly log?: Log
}

/** Where a request goes. */
interface Route {
  readonly provider: RoutedProvider
  /** As the provider knows it; `undefined` leaves the request as it is. */
  readonly model: string | undefined
}

/** Failures of an upstream, not of the request: another model may still answer. */
const FALLBACK_CODES: ReadonlySet<string> = new Set(['LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY'])

/** Callers name models as they like; a log line has so many characters of each. */
const MAX_LOGGED_NAME = 200

/** Chooses the provider by the model's name. When a model fails before its first byte, the router asks the next one. */
export class ModelRouter implements ModelClient {
  readonly #options: RouterOptions
  readonly #routes = new Map<string, Route>()
  readonly #catchAll: RoutedProvider | undefined

  constructor (options: RouterOptions) {
    this.#options = options
    for (const provider of options.providers) {
      for (const model of provider.models) this.#register(model, { provider, model })
      for (const [alias, model] of Object.entries(provider.aliases)) this.#register(alias, { provider, model })
    }
    this.#catchAll = options.providers.find(provider => provider.models.length === 0)
  }

  async ask<Kind extends OperationKind> ({ kind, request, call }: Operation<Kind>): Promise<Answers[Kind]> {
    const { total, log } = this.#options
    const routes = this.#routesOf(kind, request, call)
    const { deadline = performance.now() + total, tally = beginTally() } = call
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

  models (): readonly ModelDescription[] {
    const { defaultModel, providers } = this.#options
    const known = Array.from(this.#routes, ([id, { provider }]) => ({ id, provider: provider.name }))
    if (defaultModel === undefined || this.#routes.has(defaultModel)) return known
    return [{ id: defaultModel, provider: (this.#catchAll ?? providers[0]).name }, ...known]
  }

  async close (): Promise<void> {
    await Promise.all(this.#options.providers.map(({ upstream }) => upstream.close()))
  }

  /** The first provider that lists a name has it. */
  #register (name: string, route: Route): void {
    if (!this.#routes.has(name)) this.#routes.set(name, route)
  }

  /** @throws MODEL_NOT_FOUND */
  #routesOf (kind: OperationKind, request: ModelRequest, call: CallOptions): Route[] {
    const first = this.#route(request)
    // Another model's embeddings would be no answer.
    if (kind === 'embeddings') return [first]
    const { fallbacks = this.#options.fallbacks } = call
    return withoutRepeats([first, ...fallbacks.flatMap(name => this.#find(name) ?? [])])
  }

  #route (request: ModelRequest): Route {
    const { defaultModel, providers } = this.#options
    const { model = null } = Object.hasOwn(request, 'model') ? request : {}
    const asked = model ?? defaultModel
    if (typeof asked !== 'string') return { provider: providers[0], model: asked === undefined ? providers[0].models[0] : undefined }
    const route = this.#find(asked)
    if (route === undefined) throw modelNotFound(asked, [...this.#routes.keys()])
    return route
  }

  #find (name: string): Route | undefined {
    const catchAll = this.#catchAll
    return this.#routes.get(name) ?? (catchAll === undefined ? undefined : { provider: catchAll, model: name })
  }
}

/** A model that has failed is not asked again because a fallback, or an alias of it, names it too. */
function withoutRepeats (routes: readonly Route[]): Route[] {
  return routes.filter(({ provider, model }, index) => routes.findIndex(other => other.provider === provider && other.model === model) === index)
}

function withModel (request: ModelRequest, model: string | undefined): ModelRequest {
  return model === undefined || request['model'] === model ? request : { ...request, model }
}

function loggedName (model: string | undefined): string | undefined {
  return model === undefined ? undefined : beginningOf(model, MAX_LOGGED_NAME)
}

function isFallbackCase (error: unknown): boolean {
  return error instanceof ServiceError && FALLBACK_CODES.has(error.code)
}
