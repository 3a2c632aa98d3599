import { type Caller } from '../../access/caller.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import { type Log } from '../../base/log.ts'
import { type CountedModels } from './counted-models.ts'

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
