import { isJsonObject, type Json } from '../base/json.ts'
import type { Environment } from '../base/text.ts'
import { DEFAULT_POLICY, type PolicyDefaults } from './guard.ts'
import { ToolError } from './tool-error.ts'
import { parseSecrets, type Secrets } from './definition.ts'
import { createEgress, type Egress, type EgressOptions, SYSTEM_TLS, type TlsFiles } from './egress.ts'

/** What the operator permits to tools: addresses, secrets, commands. Registrations can only choose among them. */
export interface Operator {
  readonly egress: Egress
  readonly secrets: Secrets
  readonly baseUrls: BaseUrls
  readonly commands: ReadonlyMap<string, StdioCommand>
  readonly tls: TlsFiles
  readonly policy: PolicyDefaults
}

export interface OperatorSettings {
  /** `EGRESS` */
  readonly egress: EgressOptions['mode']
  /** `EGRESS_ALLOW`, comma-separated */
  readonly egressAllow: string
  /** `TOOL_BASE_URLS`, `module=url,…` */
  readonly baseUrls: string
  /** `TOOL_BASE_URL`, for all other modules and no module; `''` for none */
  readonly baseUrl: string
  /** `TOOL_SECRETS`, `NAME=host|host,…` */
  readonly secrets: string
  /** `MCP_STDIO_COMMANDS`, `name=command argument;…` */
  readonly stdioCommands: string
  /** Has the secrets' values, `TOOL_SECRET_NAME`. */
  readonly environment: Environment
  readonly tls?: TlsFiles
  readonly policy?: PolicyDefaults
}

/** @throws Error that names the variable and the entry; the service then does not start */
export function createOperator (settings: OperatorSettings, modules: ModuleDirectory): Operator {
  const byModule = parseBaseUrls(settings.baseUrls)
  return {
    egress: createEgress({ mode: settings.egress, allow: settings.egressAllow.split(',') }),
    secrets: parseSecrets(settings.secrets, settings.environment),
    baseUrls: createBaseUrls(
      settings.baseUrl === '' ? { byModule, modules } : { byModule, modules, fallback: parseOperatorsUrl('TOOL_BASE_URL', settings.baseUrl) }
    ),
    commands: parseStdioCommands(settings.stdioCommands),
    tls: settings.tls ?? SYSTEM_TLS,
    policy: settings.policy ?? DEFAULT_POLICY
  }
}

export interface BaseUrls {
  knows (module: string | undefined): boolean
  /** @throws ToolError when none is known */
  of (module: string | undefined, signal: AbortSignal): Promise<URL>
}

export interface ModuleDirectory {
  has (module: string): boolean
  get (module: string, signal: AbortSignal): Promise<Json | undefined>
}

/** The operator's `byModule` goes first, then what the module publishes, then the operator's `fallback`. */
export function createBaseUrls ({ byModule, fallback, modules }: {
  byModule: ReadonlyMap<string, URL>
  fallback?: URL
  modules: ModuleDirectory
}): BaseUrls {
  return {
    knows: module => fallback !== undefined || (module !== undefined && (byModule.has(module) || modules.has(module))),
    async of (module, signal) {
      const configured = module === undefined ? undefined : byModule.get(module)
      if (configured !== undefined) return configured
      const published = module !== undefined && modules.has(module) ? publishedUrl(module, await modules.get(module, signal)) : undefined
      const url = published ?? fallback
      if (url === undefined) throw new ToolError('BASE_URL_MISSING', `no base URL is known for module "${module ?? ''}"`)
      return url
    }
  }
}

function publishedUrl (module: string, value: Json | undefined): URL | undefined {
  if (value === undefined) return undefined
  const member = isJsonObject(value) ? ['base_url', 'baseUrl', 'url'].find(name => Object.hasOwn(value, name)) : undefined
  const text = isJsonObject(value) ? value[member ?? ''] : value
  if (typeof text !== 'string') throw new ToolError('BASE_URL_MISSING', `the shared variable modules.${module} holds no URL`)
  try {
    return parseBaseUrl(text)
  } catch {
    // The value is not in the error, because perhaps the caller may not read the variable.
    throw new ToolError(
      'BASE_URL_MISSING',
      `the shared variable modules.${module} holds no base URL: http, https, grpc or grpcs, without credentials, query or fragment`
    )
  }
}

/** @throws Error that names the entry, and shows no URL, since a URL can have a password */
export function parseBaseUrls (text: string): ReadonlyMap<string, URL> {
  const entries = text.split(',').map(entry => entry.trim()).filter(entry => entry !== '')
  return new Map(entries.map((entry, index) => {
    const [, module, url] = /^([^=]+)=(.+)$/.exec(entry) ?? []
    if (module === undefined || url === undefined || module.includes('://')) throw new Error(`TOOL_BASE_URLS: entry ${index + 1} must be module=url`)
    return [module.trim(), parseOperatorsUrl(`TOOL_BASE_URLS: "${module.trim()}"`, url.trim())]
  }))
}

/** @throws Error that names the place, and shows no URL, since a URL can have a password */
function parseOperatorsUrl (place: string, text: string): URL {
  try {
    return parseBaseUrl(text)
  } catch (error) {
    throw new Error(`${place} ${(error as Error).message}`)
  }
}

function parseBaseUrl (text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:', 'grpc:', 'grpcs:'].includes(url.protocol)) {
    throw new Error('must be a URL with http, https, grpc or grpcs, such as http://orders.internal:8080')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') throw new Error('must have no credentials, query or fragment')
  return url
}

export interface StdioCommand {
  readonly command: string
  readonly arguments: readonly string[]
}

/** `name=command argument …;…`; double quotes keep blanks. Registrations can only choose a name. @throws Error that names the entry */
export function parseStdioCommands (text: string): ReadonlyMap<string, StdioCommand> {
  const entries = text.split(';').map(entry => entry.trim()).filter(entry => entry !== '')
  return new Map(entries.map(entry => {
    const [, name, line] = /^([\w-]+)=(.+)$/s.exec(entry) ?? []
    const [command, ...rest] = Array.from(line?.matchAll(/"([^"]*)"|(\S+)/g) ?? [], match => match[1] ?? match[2] as string)
    if (name === undefined || command === undefined) throw new Error(`MCP_STDIO_COMMANDS: "${entry}" must be name=command arguments`)
    return [name, { command, arguments: rest }]
  }))
}
