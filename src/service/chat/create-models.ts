import { type Log } from '../../base/log.ts'
import { readFileSync } from 'node:fs'
import { ConfigError, type Config } from '../../config/config.ts'
import { isBuiltin, SCRIPT_URL } from '../../llm/builtin/builtin-url.ts'
import { type SharedModelOptions } from '../../llm/client/create-model-client.ts'
import { DEFAULT_LIMITS } from '../../llm/client/limit.ts'
import { type ProviderConfig } from '../../llm/client/providers.ts'
import { type ModelClient } from '../../llm/model-client.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Makes the client of the models in the configuration; `undefined` when none is configured. The client's code is loaded only when it is
 * needed, since loading it takes a twentieth of the service's start.
 * @param environment the environment variables with the keys that a providers file names
 * @throws ConfigError that names the variable
 */
export async function createModels (config: Config, environment: Environment, log: Log): Promise<ModelClient | undefined> {
  const [first, ...others] = [...await providersOf(config, environment), ...providerOfSkills(config)]
  if (first === undefined) return undefined
  const { createModelClients } = await import('../../llm/client/create-model-client.ts')
  const shared = await sharedOptions(config, log, [first, ...others])
  const variable = config.LLM_PROVIDERS_FILE !== '' ? 'LLM_PROVIDERS_FILE' : config.LLM_BASE_URL !== '' ? 'LLM_BASE_URL' : 'AI_KOSMOS_MODEL_BASE_URL'
  return named(variable, () => createModelClients([first, ...others], shared))
}

/** The name of the model that carries out skills; `''` for the service's default model, which also answers chats. */
export function modelOfSkills ({ AI_MODEL: model, AI_KOSMOS_MODEL_BASE_URL: url }: Config): string {
  return model === '' && url !== '' ? 'CHEAP' : model
}

async function providersOf (config: Config, environment: Environment): Promise<readonly ProviderConfig[]> {
  const { LLM_PROVIDERS_FILE: file, LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey } = config
  if (file !== '') {
    const { parseProviders } = await import('../../llm/client/providers.ts')
    return named('LLM_PROVIDERS_FILE', () => parseProviders(readFileSync(file, 'utf8'), environment))
  }
  if (baseUrl === '') return []
  const limits = { concurrency: config.LLM_CONCURRENCY, queue: config.LLM_QUEUE }
  return [{ ...BARE, name: 'default', baseUrl, models: [], limits, ...(apiKey === '' ? {} : { apiKey }) }]
}

/** The provider (model API) for skills, if one is configured. It has one model, so it gets no request that names another model. */
function providerOfSkills (config: Config): readonly ProviderConfig[] {
  const { AI_KOSMOS_MODEL_BASE_URL: baseUrl } = config
  return baseUrl === '' ? [] : [{ ...BARE, name: 'skills', baseUrl, models: [modelOfSkills(config)] }]
}

const BARE = { aliases: {}, headers: {}, limits: DEFAULT_LIMITS }

async function sharedOptions (config: Config, log: Log, providers: ReadonlyArray<{ readonly baseUrl: string }>): Promise<SharedModelOptions> {
  const script = providers.some(({ baseUrl }) => baseUrl === SCRIPT_URL) ? await scriptOf(config) : undefined
  const model = config.LLM_MODEL === '' && isBuiltin(config.LLM_BASE_URL) ? config.LLM_BASE_URL.replace('builtin:', '') : config.LLM_MODEL
  return {
    fallbacks: config.LLM_FALLBACKS.split(',').map(name => name.trim()).filter(name => name !== ''),
    timeouts: {
      connect: config.LLM_CONNECT_TIMEOUT_MS,
      firstByte: config.LLM_FIRST_BYTE_TIMEOUT_MS,
      idle: config.LLM_IDLE_TIMEOUT_MS,
      total: config.LLM_TIMEOUT_MS
    },
    log,
    ...(model === '' ? {} : { model }),
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
