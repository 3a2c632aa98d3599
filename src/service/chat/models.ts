import type { Caller } from '../../access/caller.ts'
import { modelNotConfigured } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import type { Log, StreamFacts } from '../../runtime/telemetry.ts'
import { beginningOf } from '../../base/text.ts'
import { contentBytes, textBytes, writtenBytes } from '../../llm/frame.ts'
import {
  type Answers, beginTally, type CallOptions, type ModelClient, type ModelDescription, type ModelReply, type ModelRequest, type Operation,
  type OperationKind, withOptions
} from '../../llm/model-client.ts'

/** The tokens that one call of a model has used. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Whether the provider sent no usage, so that the service has estimated the tokens. */
  readonly isEstimate: boolean
}

/** What all calls of one model with one prompt have used since the service was started. */
interface UsageTotals {
  /** `''` for calls that came without a prompt. */
  readonly prompt: string
  readonly model: string
  readonly calls: number
  /** How many of the calls have tokens that are estimates. */
  readonly estimatedCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** How many of the tokens, input and output together, are estimates. */
  readonly estimatedTokens: number
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/**
 * The most pairs of a prompt and a model that are counted one by one, and the longest name of a model, in characters: callers may name any
 * model, so both are bounded.
 */
const MAX_PAIRS = 5000
const MAX_MODEL_NAME = 200

/** The name under which all pairs of a prompt and a model beyond the first MAX_PAIRS are counted together. */
const OTHERS = '(others)'

/** Counts the calls of models and their tokens, for each pair of a prompt and a model. */
export class UsageCounter {
  readonly #totals = new Map<string, Writable<UsageTotals>>()

  count (prompt: string, given: string, usage: TokenUsage): void {
    const model = beginningOf(given, MAX_MODEL_NAME)
    const key = `${prompt}\n${model}`
    if (this.#totals.has(key) || this.#totals.size < MAX_PAIRS) this.#add(key, prompt, model, usage)
    else this.#add(OTHERS, OTHERS, OTHERS, usage)
  }

  /** The counts of all pairs of a prompt and a model, in the order in which they were first used. */
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

/** Reads how many tokens a call has used, as a provider has sent it in OpenAI's form; `undefined` for a value that has not that form. */
export function readUsage (usage: Json | undefined): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return undefined
  const { prompt_tokens: input, completion_tokens: output = 0 } = usage as JsonObject
  return isCount(input) && isCount(output) ? { inputTokens: input, outputTokens: output, isEstimate: false } : undefined
}

function isCount (value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

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
interface CountedAnswers extends Answers {
  readonly chat: CountedReply
  readonly embeddings: CountedReply
}

/** Called with the tokens that a model call has used, once they are known, to charge them to the caller. */
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

/** How many tokens a message takes beside its text: for its role and its delimiters. */
const TOKENS_PER_MESSAGE = 4

const BYTES_PER_TOKEN = 4

/**
 * Estimates the input tokens of a request: a quarter of the bytes of its texts as UTF-8, and four for each message. Every model has a
 * tokenizer of its own. The estimate is about right for English text and code, and a little low for Chinese text. Images and sound are
 * not counted.
 */
export function estimateInputTokens (request: JsonObject): number {
  const { messages = [], input = '', tools = [] } = request
  const list = Array.isArray(messages) ? messages as readonly Json[] : []
  const texts = list.reduce((sum: number, message: Json) => sum + TOKENS_PER_MESSAGE + tokensOf(isJsonObject(message) ? messageBytes(message) : 0), 0)
  const declared = Array.isArray(tools) && tools.length > 0 ? tokensOf(Buffer.byteLength(stringifyJson(tools))) : 0
  return texts + inputTokens(input) + declared
}

/** The tokens of the input of an embeddings request: texts, or lists of numbers, which are texts that the caller has turned into tokens already. */
function inputTokens (input: Json): number {
  const numbers = Array.isArray(input) ? input.flat().filter(each => typeof each === 'number').length : 0
  return numbers + tokensOf(contentBytes(input))
}

function messageBytes (message: JsonObject): number {
  const { tool_calls: calls = null } = message
  return textBytes(message) + (calls === null ? 0 : Buffer.byteLength(stringifyJson(calls)))
}

/** About how many tokens a text of so many bytes is. */
function tokensOf (bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** The two calls of a model's API (chat, embeddings) for programs that use the service without HTTP. An error is returned rather than thrown. */
export interface LlmFunctions {
  /**
   * Asks for a chat completion. The payload must have `messages`; `model` may be left out.
   * @param verbose logs the payload before the call, and the response after it
   * @returns the completion as the API gives it, or `{ error }` with the reason
   */
  post_chat_completions (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
  /** Asks for embeddings. The payload must have `input`; otherwise this is like `post_chat_completions`. */
  post_embeddings (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
}

export interface LlmFunctionsOptions {
  readonly models: CountedModels
  readonly log: Log
  readonly caller: Caller
  /** The model that is put into a payload that names none; `''` leaves the payload without a model. */
  readonly defaultModel: string
  readonly defaultEmbeddingModel: string
}

/** Makes the two functions that ask a model. They go through the same retries, limits and choice of provider as all model calls of the service. */
export function createLlmFunctions ({ models, log, caller, defaultModel, defaultEmbeddingModel }: LlmFunctionsOptions): LlmFunctions {
  async function post (kind: 'chat' | 'embeddings', required: string, model: string, payload: JsonObject, verbose: boolean): Promise<JsonObject> {
    // A payload without the required member is refused before a model is asked. The caller's payload is never changed.
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

/** Adds a model to a request that names none. @param model the model's name; `''` adds none, so that the client of the models chooses its default */
export function withDefaultModel (request: JsonObject, model: string): JsonObject {
  const { model: asked = null } = Object.hasOwn(request, 'model') ? request : {}
  return asked !== null || model === '' ? request : { ...request, model }
}
