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

/** A model API (the upstream) with the names of models that lead to it. */
export interface RoutedProvider {
  readonly name: string
  readonly upstream: ModelUpstream
  /** The names of the API's models. Empty for the API that takes every name which no other API lists. */
  readonly models: readonly string[]
  /** Aliases: further names, each for one of the API's models. */
  readonly aliases: Readonly<Record<string, string>>
}

export interface RouterOptions {
  readonly providers: readonly [RoutedProvider, ...RoutedProvider[]]
  /** The model for a request that names none. */
  readonly defaultModel?: string
  /** The models to ask, in this order, when the requested model fails. */
  readonly fallbacks: readonly string[]
  /** The longest time, in ms, for one request with all the models that are asked in turn. */
  readonly total: number
  readonly log?: Log
}

/** The model API to which a request goes, and the model there. */
interface Route {
  readonly provider: RoutedProvider
  /** The model's name at the API; `undefined` leaves the request as it is. */
  readonly model: string | undefined
}

/** The codes of failures that are not the fault of the request: another model can perhaps answer the request. */
const FALLBACK_CODES: ReadonlySet<string> = new Set(['LLM_UPSTREAM', 'LLM_RATE_LIMITED', 'LLM_AUTH', 'LLM_BUSY'])

/** The greatest length of a model's name in a log line, in characters, since callers can write any name. */
const MAX_LOGGED_NAME = 200

/** Sends each request to a model API, chosen by the name of the model. When a model fails before the first byte of its answer, a fallback is asked. */
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

  /** Records which API has the model with this name. If several APIs list the name, the first one keeps it. */
  #register (name: string, route: Route): void {
    if (!this.#routes.has(name)) this.#routes.set(name, route)
  }

  /** The models to ask for a request, in order. @throws MODEL_NOT_FOUND */
  #routesOf (kind: OperationKind, request: ModelRequest, call: CallOptions): Route[] {
    const first = this.#route(request)
    // Embeddings of another model cannot be compared with those of the requested one, so no other model is asked.
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

/** The routes without repeats: a model that has failed is not asked again because a fallback, or an alias, names it as well. */
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
