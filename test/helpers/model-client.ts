import { isBuiltin, type ModelClient } from '../../src/llm/model-client.ts'
import { createModelClients, type SharedModelOptions } from '../../src/llm/create-model-client.ts'
import { DEFAULT_LIMITS } from '../../src/llm/model-client.ts'
import { type ProviderConfig } from '../../src/llm/providers.ts'

/** One API that takes every model. */
export interface ModelClientOptions extends SharedModelOptions {
  /** An OpenAI-compatible API, `https://api.openai.com/v1`, `builtin:echo` or `builtin:script`. */
  readonly baseUrl: string
  readonly apiKey?: string
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly limits?: Partial<ProviderConfig['limits']>
}

/**
 * The client of one model API.
 * @throws TypeError for a base URL that cannot be used; its message goes after the variable's name
 */
export function createModelClient (options: ModelClientOptions): ModelClient {
  const { baseUrl, apiKey, headers = {}, limits, model = isBuiltin(baseUrl) ? baseUrl.replace('builtin:', '') : undefined } = options
  const provider = { name: 'default', baseUrl, models: [], aliases: {}, headers, limits: { ...DEFAULT_LIMITS, ...limits }, ...(apiKey === undefined ? {} : { apiKey }) }
  return createModelClients([provider], model === undefined ? options : { ...options, model })
}
