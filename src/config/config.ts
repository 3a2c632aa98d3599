import { type ErrorObject, type ValidateFunction } from 'ajv'
import { type Static } from '../schema/builder.ts'
import { type Environment, fitsHeader, listIn } from '../base/text.ts'
import { isBuiltin } from '../llm/model-client.ts'
import { configSchema } from './config-schema.ts'
import { validators } from './config-validator.ts'
import { isLabel, LATEST } from '../registry/kinds/release-record.ts'

/** `''` means that a variable is not set. */
export type Config = Readonly<Static<typeof configSchema>>

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** An empty variable counts as not set. @throws ConfigError that names the variable, the expected value and the actual value */
export function loadConfig (environment: Environment): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
  const isConfig = validators.config() as ValidateFunction<Config>
  const values: unknown = { ...given }
  if (!isConfig(values)) throw new ConfigError([...new Set(isConfig.errors?.map(violation => describe(violation, given)))].join('\n'))
  const config = Object.freeze(values)
  checkStore(config)
  checkModel(config)
  checkAccess(config)
  checkLabels(config)
  mediaTokensIn(config.MEDIA_TOKENS)
  return config
}

/** Nothing is open by an oversight: without tokens, a loopback address, or `AUTH=off` to say that everyone may call. */
function checkAccess (config: Config): void {
  const { HOST, AUTH, API_TOKENS: tokens, API_TOKENS_FILE: file } = config
  if (tokens !== '' && file !== '') throw new ConfigError('API_TOKENS and API_TOKENS_FILE: expected one of them, got both')
  if (AUTH === 'off' && asksForTokens(config)) {
    throw new ConfigError(`AUTH=off and ${file !== '' ? 'API_TOKENS_FILE' : tokens !== '' ? 'API_TOKENS' : 'AUTH_ISSUER'}: expected one of them, got both`)
  }
  checkIdentities(config)
  if (asksForTokens(config) || AUTH === 'off' || isLoopback(HOST)) return
  throw new ConfigError(
    `HOST: without API_TOKENS expected a loopback address such as 127.0.0.1, got "${HOST}"; set API_TOKENS or API_TOKENS_FILE (npx ai-prompt-shell token makes a token), or AUTH=off to let in everyone who can reach it`
  )
}

function checkIdentities ({ AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, AUTH_CLIENT_ID: client, OPERATOR_FILE: file }: Config): void {
  if (issuer === '') {
    if (audience + client === '') return
    throw new ConfigError('AUTH_ISSUER: expected the address of an OpenID provider beside AUTH_AUDIENCE and AUTH_CLIENT_ID, got none')
  }
  if (!isSafeAddress(issuer) || /[?#\s]/.test(issuer) || issuer.length > 256) {
    throw new ConfigError(`AUTH_ISSUER: expected an https address (http for a loopback one) without ? and #, got "${issuer}"`)
  }
  if (listIn(audience).length === 0) throw new ConfigError('AUTH_AUDIENCE: expected an audience, else a token for any other service would do; got none')
  if (file === '') throw new ConfigError('OPERATOR_FILE: expected a file with identities, which say what a JWT of AUTH_ISSUER gives, got none')
}

/** Whoever can change what is read there decides who gets in. */
export function isSafeAddress (address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))
}

function checkLabels ({ DEFAULT_LABEL: label, PROTECTED_LABELS: text }: Config): void {
  const served = label === '' || label === LATEST ? [] : [['DEFAULT_LABEL', label]]
  const guarded = listIn(text).map(each => ['PROTECTED_LABELS', each])
  const wrong = [...served, ...guarded].find(([, each]) => !isLabel(each as string))
  if (wrong !== undefined) throw new ConfigError(`${wrong[0] as string}: expected names of labels such as production, got "${wrong[1] as string}"`)
}

const MEDIA: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file'])

/** @throws ConfigError */
export function mediaTokensIn (text: string): ReadonlyMap<string, number> {
  return new Map(listIn(text).map(each => {
    const [, type = '', tokens] = /^([a-z_]+)\s*=\s*(\d{1,9})$/.exec(each) ?? []
    if (!MEDIA.has(type)) throw new ConfigError(`MEDIA_TOKENS: expected image_url=1000,input_audio=500,file=5000, got "${each}"`)
    return [type, Number(tokens)]
  }))
}

export function asksForTokens (config: Pick<Config, 'API_TOKENS' | 'API_TOKENS_FILE' | 'AUTH_ISSUER'>): boolean {
  return config.API_TOKENS !== '' || config.API_TOKENS_FILE !== '' || config.AUTH_ISSUER !== ''
}

export function isLoopback (host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

function checkStore (config: Config): void {
  if (config.REDIS_URL === '' && config.STORE_DIR === '') {
    throw new ConfigError('REDIS_URL or STORE_DIR: expected one of them, got neither; npm start serves the examples')
  }
  if (config.REDIS_URL !== '' && config.STORE_DIR !== '') throw new ConfigError('REDIS_URL and STORE_DIR: expected one of them, got both')
  if (config.REDIS_URL !== '' && !/^rediss?(\+sentinel|\+cluster)?:\/\/./.test(config.REDIS_URL)) throw new ConfigError('REDIS_URL: expected redis://host:port, redis+sentinel://host:port,host:port/master or redis+cluster://host:port,host:port; rediss for TLS')
}

function checkModel ({ LLM_BASE_URL, AI_KOSMOS_MODEL_BASE_URL, LLM_API_KEY: key, LLM_PROVIDERS_FILE: file }: Config): void {
  if (!fitsHeader(key)) throw new ConfigError('LLM_API_KEY: holds characters that no header may hold, such as a line end')
  if (LLM_BASE_URL !== '' && file !== '') throw new ConfigError('LLM_BASE_URL and LLM_PROVIDERS_FILE: expected one of them, got both')
  for (const [variable, url] of Object.entries({ LLM_BASE_URL, AI_KOSMOS_MODEL_BASE_URL })) {
    if (url === '' || isBuiltin(url)) continue
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new ConfigError(`${variable}: expected an http(s) address such as https://api.example.com/v1, builtin:echo or builtin:script, got "${withoutSecrets(url)}"`)
  }
}

/** A password can be before an "@" or in the query, so both are cut off. */
function withoutSecrets (address: string): string {
  return address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1').split(/[?#]/, 1).join()
}

function describe (violation: ErrorObject, given: Environment): string {
  const name = violation.instancePath.slice(1)
  const property = (configSchema.properties as Record<string, object>)[name] as Record<string, unknown> | undefined
  const shown = property?.['writeOnly'] === true ? '' : `, got ${JSON.stringify(given[name])}`
  return `${name}: expected ${expectation(property ?? {}) ?? violation.message ?? 'another value'}${shown}`
}

function expectation (property: Readonly<Record<string, unknown>>): string | undefined {
  if (Array.isArray(property['anyOf'])) {
    const choices = property['anyOf'] as Array<Record<string, unknown>>
    return `one of ${choices.map(choice => choice['const'] ?? expectation(choice)).join(', ')}`
  }
  if (property['type'] === 'boolean') return 'true or false'
  if (property['type'] !== 'integer') return undefined
  return `an integer from ${String(property['minimum'])}${property['maximum'] === undefined ? ' up' : ` to ${String(property['maximum'])}`}`
}
