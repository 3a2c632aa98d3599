import { type Caller } from '../../access/caller.ts'
import { type StreamFacts } from '../../runtime/activity.ts'
import { modelNotConfigured } from '../../base/errors.ts'
import {
  type Answers, beginTally, type CallOptions, type ModelClient, type ModelDescription, type ModelReply, type ModelRequest, type Operation,
  type OperationKind, withOptions
} from '../../llm/model-client.ts'
import { writtenBytes } from '../../llm/stream/written-bytes.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { estimateInputTokens, tokensOf } from './estimate-tokens.ts'
import { readUsage, type TokenUsage, type UsageCounter } from './usage-counter.ts'

/** One call of a model, with the caller and the prompt to which its tokens are charged. */
export interface CountedCall extends CallOptions {
  readonly caller: Caller
  /** The id of the prompt; `''` when the caller wrote the messages without a prompt. */
  readonly prompt: string
}

/** A whole reply, and the tokens that it has used. */
export interface CountedReply extends ModelReply {
  readonly usage: TokenUsage
}

/** The results of calls whose tokens are counted, by kind of call; see `Answers`. */
export interface CountedAnswers extends Answers {
  readonly chat: CountedReply
  readonly embeddings: CountedReply
}

/** Called with the tokens that a model call has used, once they are known, to charge them to the caller. */
export type OnUsage = (caller: Caller, usage: TokenUsage) => void

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

  /** Wraps the client of the models. @param models `undefined` when none is configured: every call then throws LLM_NOT_CONFIGURED */
  constructor (models: ModelClient | undefined, counter: UsageCounter, onUsage: OnUsage = () => {}) {
    this.#models = models
    this.#counter = counter
    this.#onUsage = onUsage
  }

  /** The client that asks the models. @throws LLM_NOT_CONFIGURED */
  requireConfigured (): ModelClient {
    if (this.#models === undefined) throw modelNotConfigured()
    return this.#models
  }

  /** Asks a model, and counts the tokens of the call. Throws as `Ask` does, and LLM_NOT_CONFIGURED. */
  ask<Kind extends OperationKind> (operation: Operation<Kind, CountedCall>): Promise<CountedAnswers[Kind]> {
    return this.#byKind[operation.kind](operation)
  }

  /** The models and aliases that the configuration names; an empty list if no model is configured. */
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

  /**
   * Asks a model. If the call fails after a provider has accepted it, its input tokens are counted, too. They are counted only once, even if the
   * service has tried the call several times.
   */
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

/** The tokens that a whole reply has used. They are estimated if the provider has sent no usage. */
export function usageOfReply (request: ModelRequest, value: JsonObject): TokenUsage {
  return readUsage(value['usage']) ?? estimate(request, bytesOfReply(value))
}

/** The tokens that a stream has used, also a stream that the client left or that was cut off. They are estimated if the provider has sent no usage. */
export function usageOfStream (request: ModelRequest, { usage, bytes }: StreamFacts): TokenUsage {
  return readUsage(usage) ?? estimate(request, bytes)
}

function estimate (request: ModelRequest, bytes: number): TokenUsage {
  return { inputTokens: estimateInputTokens(request), outputTokens: tokensOf(bytes), isEstimate: true }
}

function nameOf (request: ModelRequest): string {
  return typeof request['model'] === 'string' ? request['model'] : '(default)'
}

/** The size of the texts that the model has written in a reply, in bytes as UTF-8. The same texts are counted as for a stream. */
function bytesOfReply ({ choices }: JsonObject): number {
  if (!Array.isArray(choices)) return 0
  return choices.reduce((sum: number, choice: Json) => {
    const { message = null } = isJsonObject(choice) ? choice : {}
    return sum + (isJsonObject(message) ? writtenBytes(message) : 0)
  }, 0)
}
