import { readFileSync } from 'node:fs'
import { ConfigError, type Config } from '../../config/config.ts'
import { type SharedModelOptions } from '../../llm/client/create-model-client.ts'
import { type ModelClient, type ModelLog } from '../../llm/model-client.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The models that the configuration offers; `undefined` when there are none: chats then say so. What reaches them is loaded
 * when it is needed, since it is a twentieth of the start.
 * @param environment where a providers file finds its keys
 * @throws ConfigError that names the variable
 */
export async function createModels (config: Config, environment: Environment, log: ModelLog): Promise<ModelClient | undefined> {
  if (config.LLM_PROVIDERS_FILE === '' && config.LLM_BASE_URL === '') return undefined
  const { createModelClient, createModelClients } = await import('../../llm/client/create-model-client.ts')
  const shared = sharedOptions(config, log)
  if (config.LLM_PROVIDERS_FILE !== '') {
    const { parseProviders } = await import('../../llm/client/providers.ts')
    return named('LLM_PROVIDERS_FILE', () => createModelClients(parseProviders(readFileSync(config.LLM_PROVIDERS_FILE, 'utf8'), environment), shared))
  }
  return named('LLM_BASE_URL', () => createModelClient({
    ...shared,
    baseUrl: config.LLM_BASE_URL,
    limits: { concurrency: config.LLM_CONCURRENCY, queue: config.LLM_QUEUE },
    ...(config.LLM_API_KEY === '' ? {} : { apiKey: config.LLM_API_KEY })
  }))
}

function sharedOptions (config: Config, log: ModelLog): SharedModelOptions {
  return {
    fallbacks: config.LLM_FALLBACKS.split(',').map(name => name.trim()).filter(name => name !== ''),
    timeouts: {
      connect: config.LLM_CONNECT_TIMEOUT_MS,
      firstByte: config.LLM_FIRST_BYTE_TIMEOUT_MS,
      idle: config.LLM_IDLE_TIMEOUT_MS,
      total: config.LLM_TIMEOUT_MS
    },
    log,
    ...(config.LLM_MODEL === '' ? {} : { model: config.LLM_MODEL })
  }
}

function named<T> (variable: string, create: () => T): T {
  try {
    return create()
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`)
  }
}
