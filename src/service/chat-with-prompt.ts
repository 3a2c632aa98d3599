import { modelNotConfigured } from '../errors.ts'
import { type ModelClient, type ModelReply } from '../llm/model-client.ts'
import { type JsonObject } from '../template/value.ts'
import { type RenderPrompt, type RenderRequest, type Rendering } from './render-prompt.ts'

/** What a chat needs of the rest of the service. */
export interface ChatOptions {
  readonly renderPrompt: RenderPrompt
  /** `undefined` when no model is configured. */
  readonly model: ModelClient | undefined
  /** Put before a prompt that is a single text; `''` for none (requirement C-42). */
  readonly systemMessage: string
}

/** A render request, and what goes to the model beside the messages. */
export interface ChatRequest extends RenderRequest {
  /** Fields of the OpenAI request; they win over the prompt's `defaults`. */
  readonly fields: JsonObject
  /** The conversation so far, appended after the rendered messages. */
  readonly conversation: readonly JsonObject[]
  /** Aborts when the caller has left. */
  readonly signal: AbortSignal
}

export type ChatWithPrompt = (request: ChatRequest) => Promise<ModelReply>

/** The second use case: a prompt and variables become a model's answer. */
export function createPromptChat ({ renderPrompt, model, systemMessage }: ChatOptions): ChatWithPrompt {
  return async function chatWithPrompt (request) {
    if (model === undefined) throw modelNotConfigured()
    const rendering = await renderPrompt(request)
    const messages = [...asMessages(rendering, systemMessage), ...request.conversation]
    const body = { ...rendering.prompt.entry.definition.defaults, ...request.fields, messages }
    return model.complete(body, { signal: request.signal, requestId: request.requestId })
  }
}

function asMessages ({ prompt, messages }: Rendering, systemMessage: string): readonly JsonObject[] {
  const needsSystem = prompt.entry.definition.form === 'text' && systemMessage !== ''
  return needsSystem ? [{ role: 'system', content: systemMessage }, ...messages] : messages
}
