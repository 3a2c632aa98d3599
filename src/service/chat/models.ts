import type { Caller } from '../../access/caller.ts'
import { modelNotConfigured } from '../../base/errors.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import type { TokenUsage } from '../../observe/activity.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { beginningOf } from '../../base/text.ts'
import {
  type Answers, beginTally, type CallOptions, type ModelClient, type ModelDescription, type ModelReply, type ModelRequest, type Operation,
  type OperationKind, withOptions
} from '../../llm/model-client.ts'
import { estimate, usageOfReply, usageOfStream } from '../../llm/usage.ts'

interface UsageTotals {
  /** `''` for calls that came without a prompt. */
  readonly prompt: string
  readonly model: string
  readonly calls: number
  readonly estimatedCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly estimatedTokens: number
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Callers may name any model, so the pairs of prompt and model, and the names (in characters), are bounded. */
const MAX_PAIRS = 5000
const MAX_MODEL_NAME = 200

/** All pairs beyond the first MAX_PAIRS. */
const OTHERS = '(others)'

/** Counts calls and tokens for each pair of a prompt and a model. */
export class UsageCounter {
  readonly #totals = new Map<string, Writable<UsageTotals>>()

  count (prompt: string, given: string, usage: TokenUsage): void {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const key = `${prompt}\n${model}`
    if (this.#totals.has(key) || this.#totals.size < MAX_PAIRS) this.#add(key, prompt, model, usage)
    else this.#add(OTHERS, OTHERS, OTHERS, usage)
  }

  read (): readonly UsageTotals[] {
    return Array.from(this.#totals.values(), totals => ({ ...totals }))
  }

  #add (key: string, prompt: string, model: string, { inputTokens, outputTokens, isEstimate }: TokenUsage): void {
    let totals = this.#totals.get(key)
    if (totals === undefined) {
      totals = { prompt, model, calls: 0, estimatedCalls: 0, inputTokens: 0, outputTokens: 0, estimatedTokens: 0 }
      this.#totals.set(key, totals)
    }
    totals.calls++
    totals.inputTokens += inputTokens
    totals.outputTokens += outputTokens
    if (!isEstimate) return
    totals.estimatedCalls++
    totals.estimatedTokens += inputTokens + outputTokens
  }
}

export interface CountedCall extends CallOptions {
  readonly caller: Caller
  /** `''` when the caller wrote the messages without a prompt. */
  readonly prompt: string
}

export interface CountedReply extends ModelReply {
  readonly usage: TokenUsage
}

interface CountedAnswers extends Answers {
  readonly chat: CountedReply
  readonly embeddings: CountedReply
}

type OnUsage = (caller: Caller, usage: TokenUsage) => void

/** The models that the service can ask. The tokens of every call are counted here, whichever part of the service makes it. */
export class CountedModels {
  readonly #models: ModelClient | undefined
  readonly #counter: UsageCounter
  readonly #onUsage: OnUsage
  readonly #byKind: { readonly [Kind in OperationKind]: (operation: Operation<Kind, CountedCall>) => Promise<CountedAnswers[Kind]> } = {
    chat: operation => this.#askWhole(operation),
    embeddings: operation => this.#askWhole(operation),
    stream: operation => this.#askStream(operation),
    frames: operation => this.#askStream(operation)
  }

  /** Without `models`, every call throws LLM_NOT_CONFIGURED. */
  constructor (models: ModelClient | undefined, counter: UsageCounter, onUsage: OnUsage = () => {}) {
    this.#models = models
    this.#counter = counter
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
    const { request, call } = operation
    const { body, value } = await this.#ask(operation)
    const { model } = value
    const usage = usageOfReply(request, value)
    this.#count(call, typeof model === 'string' ? model : nameOf(request), usage)
    return { body, value, usage }
  }

  async #askStream<Kind extends 'stream' | 'frames'> (operation: Operation<Kind, CountedCall>): Promise<Answers[Kind]> {
    const { request, call } = operation
    const stream = await this.#ask(operation)
    void stream.ended.then(end => this.#count(call, end.model ?? nameOf(request), usageOfStream(request, end)))
    return stream
  }

  /** The input tokens of a call that fails after a provider accepted it are counted too, once for all its tries. */
  async #ask<Kind extends OperationKind> ({ kind, request, call }: Operation<Kind, CountedCall>): Promise<Answers[Kind]> {
    const models = this.requireConfigured()
    const tally = beginTally()
    try {
      return await models.ask({ kind, request, call: withOptions(call, { tally }) })
    } catch (error) {
      if (tally.taken > 0) this.#count(call, nameOf(request), estimate(request, 0))
      throw error
    }
  }

  #count ({ prompt, caller }: CountedCall, model: string, usage: TokenUsage): void {
    this.#counter.count(prompt, model, usage)
    this.#onUsage(caller, usage)
  }
}

function nameOf (request: ModelRequest): string {
  return typeof request['model'] === 'string' ? request['model'] : '(default)'
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
export function withDefaultModel (request: JsonObject, model: string): JsonObject {
  const { model: asked = null } = Object.hasOwn(request, 'model') ? request : {}
  return asked !== null || model === '' ? request : { ...request, model }
}
