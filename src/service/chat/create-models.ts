import { type Log } from '../../base/log.ts'
import { readFileSync } from 'node:fs'
import { ConfigError, type Config } from '../../config/config.ts'
import { SCRIPT_URL } from '../../llm/builtin/builtin-url.ts'
import { type SharedModelOptions } from '../../llm/client/create-model-client.ts'
import { type ModelClient } from '../../llm/model-client.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The models that the configuration offers; `undefined` when there are none: chats then say so. What reaches them is loaded
 * when it is needed, since it is a twentieth of the start.
 * @param environment where a providers file finds its keys
 * @throws ConfigError that names the variable
 */
export async function createModels (config: Config, environment: Environment, log: Log): Promise<ModelClient | undefined> {
  if (config.LLM_PROVIDERS_FILE === '' && config.LLM_BASE_URL === '') return undefined
  const { createModelClient, createModelClients } = await import('../../llm/client/create-model-client.ts')
  if (config.LLM_PROVIDERS_FILE !== '') {
    const { parseProviders } = await import('../../llm/client/providers.ts')
    const providers = named('LLM_PROVIDERS_FILE', () => parseProviders(readFileSync(config.LLM_PROVIDERS_FILE, 'utf8'), environment))
    const shared = await sharedOptions(config, log, providers)
    return named('LLM_PROVIDERS_FILE', () => createModelClients(providers, shared))
  }
  const shared = await sharedOptions(config, log, [{ baseUrl: config.LLM_BASE_URL }])
  return named('LLM_BASE_URL', () => createModelClient({
    ...shared,
    baseUrl: config.LLM_BASE_URL,
    limits: { concurrency: config.LLM_CONCURRENCY, queue: config.LLM_QUEUE },
    ...(config.LLM_API_KEY === '' ? {} : { apiKey: config.LLM_API_KEY })
  }))
}

async function sharedOptions (config: Config, log: Log, providers: ReadonlyArray<{ readonly baseUrl: string }>): Promise<SharedModelOptions> {
  const script = providers.some(({ baseUrl }) => baseUrl === SCRIPT_URL) ? await scriptOf(config) : undefined
  return {
    fallbacks: config.LLM_FALLBACKS.split(',').map(name => name.trim()).filter(name => name !== ''),
    timeouts: {
      connect: config.LLM_CONNECT_TIMEOUT_MS,
      firstByte: config.LLM_FIRST_BYTE_TIMEOUT_MS,
      idle: config.LLM_IDLE_TIMEOUT_MS,
      total: config.LLM_TIMEOUT_MS
    },
    log,
    ...(config.LLM_MODEL === '' ? {} : { model: config.LLM_MODEL }),
    ...(script === undefined ? {} : { script })
  }
}

async function scriptOf ({ LLM_SCRIPT_FILE: path }: Config): Promise<SharedModelOptions['script']> {
  if (path === '') return undefined
  const { readScript } = await import('../../llm/builtin/read-script.ts')
  return named('LLM_SCRIPT_FILE', () => readScript(path))
}

function named<T> (variable: string, create: () => T): T {
  try {
    return create()
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`)
  }
}
