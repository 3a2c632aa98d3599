import { type Caller } from '../../access/caller.ts'
import { type StreamFacts } from '../../runtime/activity.ts'
import { modelNotConfigured } from '../../base/errors.ts'
import { beginTally, type CallOptions, type ForwardedEndpoint, type ModelClient, type ModelDescription, type ModelReply, type ModelRequest, type ModelStream, withOptions } from '../../llm/model-client.ts'
import { writtenBytes } from '../../llm/stream/written-bytes.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { estimateInputTokens, tokensOf } from './estimate-tokens.ts'
import { readUsage, type TokenUsage, type UsageCounter } from './usage-counter.ts'

/** One call, and whom and what it is counted under. */
export interface CountedCall extends CallOptions {
  readonly caller: Caller
  /** `''` when the caller wrote the messages. */
  readonly prompt: string
}

/** A whole reply, and what it has used. */
export interface CountedReply extends ModelReply {
  readonly usage: TokenUsage
}

/** Told of what a caller has used, when it is known. */
export type OnUsage = (caller: Caller, usage: TokenUsage) => void

/** The service's models: every call is counted, whatever it is made for. */
export class CountedModels {
  readonly #models: ModelClient | undefined
  readonly #counter: UsageCounter
  readonly #onUsage: OnUsage

  /**
   * @param models `undefined` when none is configured: every call then says so
   * @param onUsage told of what every call has used
   */
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

  /** Throws as `ModelClient.complete` does, and LLM_NOT_CONFIGURED. */
  async complete (request: ModelRequest, call: CountedCall): Promise<CountedReply> {
    return this.#counted(request, call, await this.#ask(request, call, (models, options) => models.complete(request, options)))
  }

  /** Throws as `complete` does. */
  async stream (request: ModelRequest, call: CountedCall): Promise<ModelStream> {
    const stream = await this.#ask(request, call, (models, options) => models.stream(request, options))
    void stream.ended.then(end => this.#count(call, end.model ?? nameOf(request), usageOfStream(request, end)))
    return stream
  }

  /** Throws as `complete` does. */
  async forward (endpoint: ForwardedEndpoint, request: ModelRequest, call: CountedCall): Promise<CountedReply> {
    return this.#counted(request, call, await this.#ask(request, call, (models, options) => models.forward(endpoint, request, options)))
  }

  /** The models that are known by name. */
  list (): readonly ModelDescription[] {
    return this.#models?.models() ?? []
  }

  /** Counts the input of a call without an answer that a provider has taken: once, since its retries are not the caller's. */
  async #ask<T> (request: ModelRequest, call: CountedCall, ask: (models: ModelClient, options: CallOptions) => Promise<T>): Promise<T> {
    const models = this.requireConfigured()
    const tally = beginTally()
    try {
      return await ask(models, withOptions(call, { tally }))
    } catch (error) {
      if (tally.taken > 0) this.#count(call, nameOf(request), estimate(request, 0))
      throw error
    }
  }

  #counted (request: ModelRequest, call: CountedCall, reply: ModelReply): CountedReply {
    const { model } = reply.value
    const usage = usageOfReply(request, reply.value)
    this.#count(call, typeof model === 'string' ? model : nameOf(request), usage)
    return { body: reply.body, value: reply.value, usage }
  }

  #count ({ prompt, caller }: CountedCall, model: string, usage: TokenUsage): void {
    this.#counter.count(prompt, model, usage)
    this.#onUsage(caller, usage)
  }
}

/** What a whole reply has used. */
export function usageOfReply (request: ModelRequest, value: JsonObject): TokenUsage {
  return readUsage(value['usage']) ?? estimate(request, bytesOfReply(value))
}

/** A stream that was left or cut has used tokens too; then nobody tells how many. */
export function usageOfStream (request: ModelRequest, { usage, bytes }: StreamFacts): TokenUsage {
  return readUsage(usage) ?? estimate(request, bytes)
}

function estimate (request: ModelRequest, bytes: number): TokenUsage {
  return { inputTokens: estimateInputTokens(request), outputTokens: tokensOf(bytes), isEstimate: true }
}

function nameOf (request: ModelRequest): string {
  return typeof request['model'] === 'string' ? request['model'] : '(default)'
}

/** What the model has written as UTF-8, counted as in a stream. */
function bytesOfReply ({ choices }: JsonObject): number {
  if (!Array.isArray(choices)) return 0
  return choices.reduce((sum: number, choice: Json) => {
    const { message = null } = isObject(choice) ? choice as JsonObject : {}
    return sum + (isObject(message) ? writtenBytes(message as JsonObject) : 0)
  }, 0)
}
