import { ECHO_URL, EchoModel } from './echo-model.ts'
import { HttpModel, type HttpModelOptions } from './http-model.ts'
import { DEFAULT_MAX_REPLY_BYTES, DEFAULT_TIMEOUTS, type ModelClient, type ModelTimeouts } from './model-client.ts'
import { DEFAULT_RETRY } from './retry.ts'

/** How to reach a model; what is left out has its default. */
export interface ModelClientOptions extends Partial<Omit<HttpModelOptions, 'baseUrl' | 'timeouts'>> {
  /** An OpenAI-compatible API, `https://api.openai.com/v1`, or `builtin:echo`. */
  readonly baseUrl: string
  readonly timeouts?: Partial<ModelTimeouts>
}

/**
 * The client of one model API.
 * @throws TypeError for a base URL that cannot be used; its message goes after the variable's name
 */
export function createModelClient (options: ModelClientOptions): ModelClient {
  if (options.baseUrl === ECHO_URL) return new EchoModel(options.model)
  return new HttpModel({
    maxReplyBytes: DEFAULT_MAX_REPLY_BYTES,
    retry: DEFAULT_RETRY,
    ...options,
    timeouts: { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  })
}
