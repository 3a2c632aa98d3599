import { type Caller } from '../../access/caller.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import { type Log } from '../../base/log.ts'
import { type CountedModels } from './counted-models.ts'

/** The two calls of a model's API as programs make them that want an answer or a reason, and no exception. */
export interface LlmFunctions {
  /**
   * A chat completion. The payload must have `messages`; `model` may be left out.
   * @param verbose logs the payload before, and the response after
   * @returns the completion as the API gives it, or `{ error }` with the reason
   */
  post_chat_completions (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
  /** Embeddings. The payload must have `input`; otherwise the same. */
  post_embeddings (payload: JsonObject, verbose?: boolean): Promise<JsonObject>
}

export interface LlmFunctionsOptions {
  readonly models: CountedModels
  readonly log: Log
  readonly caller: Caller
  /** What is put into a payload without a model; `''`: the service's default. */
  readonly defaultModel: string
  readonly defaultEmbeddingModel: string
}

/** Retries, limits and routing are those of every call of the service. */
export function createLlmFunctions ({ models, log, caller, defaultModel, defaultEmbeddingModel }: LlmFunctionsOptions): LlmFunctions {
  async function post (kind: 'chat' | 'embeddings', required: string, model: string, payload: JsonObject, verbose: boolean): Promise<JsonObject> {
    // Nobody is asked in vain, and the caller's payload stays as it is.
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

/** A request that names a model. @param model for one that names none; `''` leaves it to the provider */
export function withDefaultModel (request: JsonObject, model: string): JsonObject {
  const { model: asked = null } = Object.hasOwn(request, 'model') ? request : {}
  return asked !== null || model === '' ? request : { ...request, model }
}
