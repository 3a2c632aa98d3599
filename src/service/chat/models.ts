import type { Caller } from '../../access/caller.ts'
import { modelNotConfigured } from '../../base/errors.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import type { TokenUsage } from '../../observe/activity.ts'
import type { Log } from '../../runtime/telemetry.ts'
import {
  type Answers, beginTally, type CallOptions, type ModelClient, type ModelDescription, type ModelReply, type Operation,
  type OperationKind, withOptions
} from '../../llm/model-client.ts'
import { changed, memberOf, type ModelRequest } from '../../llm/model-request.ts'
import { estimate, estimateInputTokens, usageOfReply, usageOfStream } from '../../llm/usage.ts'
import type { Budgets, Reservation } from '../budgets.ts'
import type { CallEnd, UsageLedger } from '../usage.ts'

export interface CountedCall extends CallOptions {
  readonly caller: Caller
  /** `''` when the caller wrote the messages without a prompt. */
  readonly prompt: string
}

export interface CountedReply extends ModelReply {
  readonly usage: TokenUsage
  /** In billionths of a USD; `undefined` when the price is not known. */
  readonly cost: number | undefined
}

/** Of a stream, when it has ended. */
interface Counted {
  readonly counted: Promise<Pick<CountedReply, 'usage' | 'cost'>>
}

interface CountedAnswers extends Answers {
  readonly chat: CountedReply
  readonly embeddings: CountedReply
  readonly stream: Answers['stream'] & Counted
  readonly frames: Answers['frames'] & Counted
}

type OnUsage = (caller: Caller, usage: TokenUsage) => void

/** The models that the service can ask. The tokens of every call are counted here, whichever part of the service makes it. */
export class CountedModels {
  readonly #models: ModelClient | undefined
  readonly #ledger: UsageLedger
  readonly #budgets: Budgets | undefined
  readonly #onUsage: OnUsage
  readonly #byKind: { readonly [Kind in OperationKind]: (operation: Operation<Kind, CountedCall>) => Promise<CountedAnswers[Kind]> } = {
    chat: operation => this.#askWhole(operation),
    embeddings: operation => this.#askWhole(operation),
    stream: operation => this.#askStream(operation),
    frames: operation => this.#askStream(operation)
  }

  /** Without `models`, every call throws LLM_NOT_CONFIGURED. */
  constructor (models: ModelClient | undefined, ledger: UsageLedger, onUsage: OnUsage = () => {}, budgets?: Budgets) {
    this.#models = models
    ledger.expect(models?.models().map(({ id }) => id) ?? [])
    this.#ledger = ledger
    this.#budgets = budgets
    this.#onUsage = onUsage
  }

  /** @throws LLM_NOT_CONFIGURED */
  requireConfigured (): ModelClient {
    if (this.#models === undefined) throw modelNotConfigured()
    return this.#models
  }

  /** Throws as `Ask` does, and LLM_NOT_CONFIGURED. */
  ask<Kind extends OperationKind> (operation: Operation<Kind, CountedCall>): Promise<CountedAnswers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  list (): readonly ModelDescription[] {
    return this.#models?.models() ?? []
  }

  async #askWhole (operation: Operation<'chat' | 'embeddings', CountedCall>): Promise<CountedReply> {
    const { request } = operation
    const { answer: { body, value }, took, count } = await this.#ask(operation)
    const usage = usageOfReply(request, value)
    return { body, value, usage, cost: count(usage, took(), value['model']) }
  }

  async #askStream<Kind extends 'stream' | 'frames'> (operation: Operation<Kind, CountedCall>): Promise<Answers[Kind] & Counted> {
    const { answer, took, count } = await this.#ask(operation)
    const counted = answer.ended.then(end => {
      const usage = usageOfStream(operation.request, end)
      const isLate = end.outcome === 'left' && !hasLeft(operation.call)
      return { usage, cost: count(usage, isLate ? 'failed' : end.outcome === 'complete' ? took() : end.outcome, end.model) }
    })
    return Object.assign(answer, { counted })
  }

  /** The input tokens of a call that fails after a provider accepted it are counted too, once for all its tries. */
  async #ask<Kind extends OperationKind> ({ kind, request, call }: Operation<Kind, CountedCall>) {
    const models = this.requireConfigured()
    const given = nameOf(request) ?? models.defaultModel ?? '(default)'
    const reserved = await this.#reserve(given, request, call)
    const tally = beginTally()
    const began = performance.now()
    const count = (usage: TokenUsage, end: CallEnd, model?: unknown): number | undefined => {
      const cost = this.#ledger.count(call, typeof model === 'string' ? model : given, usage, end)
      reserved?.settle(usage, cost)
      this.#onUsage(call.caller, usage)
      return cost
    }
    try {
      return { answer: await models.ask({ kind, request, call: withOptions(call, { tally }) }), took: () => performance.now() - began, count }
    } catch (error) {
      const end = call.signal.aborted && hasLeft(call) ? 'left' : 'failed'
      if (tally.taken > 0) count(estimate(request, 0), end)
      else {
        reserved?.settle(undefined, undefined)
        if (end === 'failed') this.#ledger.count(call, given, NOTHING, end)
      }
      throw error
    }
  }

  /** @throws BUDGET_USED, PRICE_UNKNOWN */
  #reserve (model: string, request: ModelRequest, call: CountedCall): Promise<Reservation | undefined> | undefined {
    if (this.#budgets?.isEmpty !== false) return undefined
    const most = memberOf(request, 'max_completion_tokens') ?? memberOf(request, 'max_tokens')
    return this.#budgets.reserve(call, model, estimateInputTokens(request), typeof most === 'number' ? most : undefined)
  }
}

const NOTHING: TokenUsage = { inputTokens: 0, outputTokens: 0, isEstimate: false }

function nameOf (request: ModelRequest): string | undefined {
  const model = memberOf(request, 'model')
  return typeof model === 'string' ? model : undefined
}

/** Nobody left a call that took too long. Whoever destroys a stream's events leaves without the signal. */
function hasLeft ({ signal }: CountedCall): boolean {
  return !(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError')
}

/** For programs that use the service without HTTP; an error is returned rather than thrown. */
export interface LlmFunctions {
  /** Needs `messages`; `verbose` logs the payload and the response. @returns the API's completion, or `{ error }` with the reason */
  post_chat_completions (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
  post_embeddings (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
}

export function createLlmFunctions ({ models, log, caller, defaultModel, defaultEmbeddingModel }: {
  readonly models: CountedModels
  readonly log: Log
  readonly caller: Caller
  readonly defaultModel: string
  readonly defaultEmbeddingModel: string
}): LlmFunctions {
  async function post (kind: 'chat' | 'embeddings', required: string, model: string, payload: JsonObject, verbose: boolean): Promise<JsonObject> {
    // The caller's payload is never changed.
    if (!isJsonObject(payload) || !Object.hasOwn(payload, required)) return { error: `expected "${required}" in the payload` }
    const request = withDefaultModel(payload, model)
    if (verbose) log.debug({ payload: request }, `llm ${kind}: payload`)
    try {
      const { value } = await models.ask({ kind, request, call: { caller, prompt: '', signal: new AbortController().signal, requestId: '' } })
      if (verbose) log.debug({ response: value }, `llm ${kind}: response`)
      return value
    } catch (error) {
      log.error({ err: error }, `llm ${kind} failed`)
      return { error: (error as Error).message }
    }
  }

  return {
    post_chat_completions: (payload, verbose = false) => post('chat', 'messages', defaultModel, payload, verbose),
    post_embeddings: (payload, verbose = false) => post('embeddings', 'input', defaultEmbeddingModel, payload, verbose)
  }
}

/** With `''` for `model`, the client of the models chooses its default. */
export function withDefaultModel (request: ModelRequest, model: string): ModelRequest {
  return (memberOf(request, 'model') ?? null) !== null || model === '' ? request : changed(request, { model })
}
