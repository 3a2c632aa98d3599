import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Environment } from '../base/text.ts'
import { Rates } from '../access/rates.ts'
import type { Log } from '../runtime/telemetry.ts'
import { asksForTokens, type Config, ConfigError } from '../config/config.ts'
import type { SharedModelOptions } from '../llm/create-model-client.ts'
import { DEFAULT_LIMITS, isBuiltin, type ModelClient, SCRIPT_URL } from '../llm/model-client.ts'
import type { ProviderConfig } from '../llm/providers.ts'
import { Prices } from '../observe/prices.ts'
import type { SharedCounters } from '../store/redis/redis-counters.ts'
import { MemoryUsage, type UsageStore } from '../store/usage-store.ts'
import type { EnvironSource } from '../template/run.ts'
import type { TlsFiles } from '../tool/egress.ts'
import { createOperator, type ModuleDirectory, type Operator } from '../tool/operator.ts'

/** Loads the client's code only when needed: that takes a twentieth of the start. @throws ConfigError that names the variable */
export async function createModels (config: Config, environment: Environment, log: Log): Promise<ModelClient | undefined> {
  const [first, ...others] = [...await providersOf(config, environment), ...providerOfSkills(config)]
  if (first === undefined) return undefined
  const { createModelClients } = await import('../llm/create-model-client.ts')
  const shared = await sharedOptions(config, log, [first, ...others])
  const variable = config.LLM_PROVIDERS_FILE !== '' ? 'LLM_PROVIDERS_FILE' : config.LLM_BASE_URL !== '' ? 'LLM_BASE_URL' : 'AI_KOSMOS_MODEL_BASE_URL'
  return named(variable, () => createModelClients([first, ...others], shared))
}

export function modelOfSkills ({ AI_MODEL: model, AI_KOSMOS_MODEL_BASE_URL: url }: Config): string {
  return model === '' && url !== '' ? 'CHEAP' : model
}

async function providersOf (config: Config, environment: Environment): Promise<readonly ProviderConfig[]> {
  const { LLM_PROVIDERS_FILE: file, LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey } = config
  if (file !== '') {
    const { parseProviders } = await import('../llm/providers.ts')
    return named('LLM_PROVIDERS_FILE', () => parseProviders(readFileSync(file, 'utf8'), environment))
  }
  if (baseUrl === '') return []
  const limits = { concurrency: config.LLM_CONCURRENCY, queue: config.LLM_QUEUE }
  return [{ ...BARE, name: 'default', baseUrl, models: [], limits, apiKey: apiKey === '' ? undefined : apiKey }]
}

/** It has one model, so it gets no request that names another. */
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
    model: model === '' ? undefined : model,
    script
  }
}

async function scriptOf ({ LLM_SCRIPT_FILE: path }: Config): Promise<SharedModelOptions['script']> {
  if (path === '') return undefined
  const { readScript } = await import('../llm/read-script.ts')
  return named('LLM_SCRIPT_FILE', () => readScript(path))
}

function named<T> (variable: string, create: () => T): T {
  try {
    return create()
  } catch (error) {
    throw new ConfigError(`${variable}: ${(error as Error).message}`)
  }
}

/** @throws ConfigError */
export async function pricesFrom ({ PRICES_FILE: file }: Config): Promise<Prices> {
  if (file === '') return new Prices()
  const { parsePrices } = await import('../llm/prices.ts')
  return named('PRICES_FILE', () => parsePrices(readFileSync(file, 'utf8')))
}

/** Replicas that share a Redis share the counts. */
export async function openRates (config: Config, log: Log): Promise<Rates> {
  return new Rates({ shared: await openCounters(config, log), prefix: `${config.KEY_PREFIX}rates:counts:` })
}

/** Opened only where models can be asked. @param ofWorkers the store of the primary process */
export async function openUsage (config: Config, log: Log, ofWorkers: UsageStore | undefined): Promise<UsageStore> {
  if (config.REDIS_URL === '') return ofWorkers ?? new MemoryUsage()
  const { createRedisUsage } = await import('../store/redis/redis-usage.ts')
  return createRedisUsage({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log, prefix: config.KEY_PREFIX })
}

/** `undefined` without API tokens, too: only these have limits that are counted. */
async function openCounters (config: Config, log: Log): Promise<SharedCounters | undefined> {
  if (config.REDIS_URL === '' || !asksForTokens(config)) return undefined
  const { createRedisCounters } = await import('../store/redis/redis-counters.ts')
  return createRedisCounters({ url: config.REDIS_URL, sentinelPassword: config.REDIS_SENTINEL_PASSWORD, log })
}

/** Modules' addresses can also come from shared variables, secrets from `TOOL_SECRET_NAME`. @throws ConfigError that names the variable */
export function operatorFrom (config: Config, environs: EnvironSource, environment: Environment): Operator {
  try {
    return createOperator({
      egress: config.EGRESS,
      egressAllow: config.EGRESS_ALLOW,
      baseUrls: config.TOOL_BASE_URLS,
      baseUrl: config.TOOL_BASE_URL,
      secrets: config.TOOL_SECRETS,
      stdioCommands: config.MCP_STDIO_COMMANDS,
      environment,
      tls: readTlsFiles(config)
    }, moduleDirectory(environs))
  } catch (error) {
    throw new ConfigError((error as Error).message)
  }
}

function moduleDirectory (environs: EnvironSource): ModuleDirectory {
  const path = (module: string) => `modules.${module}`
  return {
    has: module => environs.has(path(module)),
    async get (module, signal) {
      const name = path(module)
      const known = environs.cached(name) ?? (await environs.fetch([name], signal)).get(name)
      return known?.value
    }
  }
}

const CERTIFICATES = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g

/** Node ignores invalid authorities, and a key alone, and finds other faults only at a tool's first call. @throws Error with the variable */
export function readTlsFiles ({ TOOL_TLS_CA_FILE: caFile, TOOL_TLS_KEY_FILE: keyFile, TOOL_TLS_CERT_FILE: certFile }: Config): TlsFiles {
  if ((keyFile === '') !== (certFile === '')) {
    const given = keyFile === '' ? 'TOOL_TLS_CERT_FILE' : 'TOOL_TLS_KEY_FILE'
    throw new Error(`TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE: expected both of them, got only ${given}`)
  }
  const ca = readPem('TOOL_TLS_CA_FILE', caFile, 'certificates', parseCertificates)
  const key = readPem('TOOL_TLS_KEY_FILE', keyFile, 'a private key without a passphrase', createPrivateKey)
  const cert = readPem('TOOL_TLS_CERT_FILE', certFile, 'a certificate', parseCertificates)
  if (key !== null && cert !== null) checkPair(key, cert)
  return { ca, key, cert }
}

function readPem (variable: string, path: string, expected: string, parse: (pem: Buffer) => unknown): Buffer | null {
  if (path === '') return null
  const pem = namedFile(variable, () => readFileSync(path))
  namedFile(`${variable}: expected a PEM file with ${expected}`, () => parse(pem))
  return pem
}

/** A damaged one is an error here, whereas Node would skip it. */
function parseCertificates (pem: Buffer): X509Certificate[] {
  const certificates = Array.from(pem.toString('latin1').matchAll(CERTIFICATES), ([text]) => new X509Certificate(text))
  if (certificates.length === 0) throw new Error('there is none in it')
  return certificates
}

/** `createSecureContext` would accept a key of another type, so the certificate is asked first. */
function checkPair (key: Buffer, cert: Buffer): void {
  const variables = 'TOOL_TLS_KEY_FILE and TOOL_TLS_CERT_FILE'
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error(`${variables}: expected the key of the certificate, got another one`)
  namedFile(variables, () => createSecureContext({ key, cert }))
}

function namedFile<T> (place: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
}
