import type { Json } from '../base/json.ts'
import { isObject } from '../template/value.ts'
import { DEFAULT_POLICY, type PolicyDefaults } from './guard.ts'
import { ToolError } from './tool-error.ts'
import { parseSecrets, type Secrets } from './definition.ts'
import { createEgress, type Egress, type EgressOptions, SYSTEM_TLS, type TlsFiles } from './egress.ts'

/**
 * The permissions that the operator (who runs this service) gives to tools: addresses, secrets, commands. Registrations of tools can only
 * choose among them.
 */
export interface Operator {
  readonly egress: Egress
  readonly secrets: Secrets
  readonly baseUrls: BaseUrls
  /** The commands with which the operator allows MCP servers to be started, by name. */
  readonly commands: ReadonlyMap<string, StdioCommand>
  readonly tls: TlsFiles
  readonly policy: PolicyDefaults
}

/** The operator's permissions for tools as they are written in environment variables. */
export interface OperatorSettings {
  /** The variable `EGRESS`: the mode of the egress policy. */
  readonly egress: EgressOptions['mode']
  /** The variable `EGRESS_ALLOW`: the internal CIDRs, addresses and host names to which the mode `strict` allows calls, comma-separated. */
  readonly egressAllow: string
  /** The variable `TOOL_BASE_URLS`, `module=url,…`: the base URL of each module. */
  readonly baseUrls: string
  /** The variable `TOOL_BASE_URL`: the base URL for tools of all other modules, and of no module; `''` for none. */
  readonly baseUrl: string
  /** The variable `TOOL_SECRETS`, `NAME=host|host,…`: the hosts to which each secret is allowed to go. */
  readonly secrets: string
  /** The variable `MCP_STDIO_COMMANDS`, `name=command argument;…`: the commands with which MCP servers are allowed to be started. */
  readonly stdioCommands: string
  /** The environment of this process, in which the variables `TOOL_SECRET_NAME` have the values of the secrets. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly tls?: TlsFiles
  readonly policy?: PolicyDefaults
}

/**
 * Reads the operator's permissions for tools.
 * @param modules the place where modules publish their addresses
 * @throws Error that names the variable and the entry; the service then does not start
 */
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

/** The base URLs of modules (programs that offer several tools). They complete the relative URLs in the registrations of tools. */
export interface BaseUrls {
  /** Whether a base URL of a module is known now. */
  knows (module: string | undefined): boolean
  /** Finds the base URL of a module. @throws ToolError when none is known */
  of (module: string | undefined, signal: AbortSignal): Promise<URL>
}

interface BaseUrlOptions {
  /** The operator's base URLs by module, from the variable `TOOL_BASE_URLS`: `module=url,…` */
  readonly byModule: ReadonlyMap<string, URL>
  /** The operator's base URL for tools without a module, and for modules that have none in `byModule` or `modules`; from the variable `TOOL_BASE_URL`. */
  readonly fallback?: URL
  /** The addresses that modules publish, each as a shared variable `modules.{module}`: a text, or an object with `base_url`, `baseUrl` or `url`. */
  readonly modules: ModuleDirectory
}

/** The shared variables `modules.*` (values in the store), in which modules (programs that offer tools) publish their own addresses. */
export interface ModuleDirectory {
  has (module: string): boolean
  get (module: string, signal: AbortSignal): Promise<Json | undefined>
}

/** Makes the lookup of base URLs: first the operator's `byModule`, then what the module publishes, then the operator's `fallback`. */
export function createBaseUrls ({ byModule, fallback, modules }: BaseUrlOptions): BaseUrls {
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
  const member = isObject(value) ? ['base_url', 'baseUrl', 'url'].find(name => Object.hasOwn(value, name)) : undefined
  const text = isObject(value) ? value[member ?? ''] : value
  if (typeof text !== 'string') throw new ToolError('BASE_URL_MISSING', `the shared variable modules.${module} holds no URL`)
  try {
    return parseBaseUrl(text)
  } catch {
    // The value of the variable is not in the error, because perhaps the caller of the tool is not allowed to read it.
    throw new ToolError(
      'BASE_URL_MISSING',
      `the shared variable modules.${module} holds no base URL: http, https, grpc or grpcs, without credentials, query or fragment`
    )
  }
}

/**
 * Reads the variable `TOOL_BASE_URLS`: `module=url,…`.
 * @throws Error that names the entry, by its module if it has one. It shows no URL, since a URL can have a password.
 */
export function parseBaseUrls (text: string): ReadonlyMap<string, URL> {
  const entries = text.split(',').map(entry => entry.trim()).filter(entry => entry !== '')
  return new Map(entries.map((entry, index) => {
    const [, module, url] = /^([^=]+)=(.+)$/.exec(entry) ?? []
    // An "=" can also be part of a URL that has no module before it.
    if (module === undefined || url === undefined || module.includes('://')) throw new Error(`TOOL_BASE_URLS: entry ${index + 1} must be module=url`)
    return [module.trim(), parseOperatorsUrl(`TOOL_BASE_URLS: "${module.trim()}"`, url.trim())]
  }))
}

/**
 * Reads a base URL that the operator has set.
 * @param place the variable, and the entry in it
 * @throws Error that names the place. It does not show the URL, since a URL can have a password.
 */
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

/** A command by which the operator allows MCP servers to be started. */
export interface StdioCommand {
  readonly command: string
  readonly arguments: readonly string[]
}

/**
 * Reads the variable `MCP_STDIO_COMMANDS`: entries `name=command argument …`, separated by `;`. A word in double quotes can have blanks.
 * Registrations choose a command by its name, and can neither change nor extend it.
 * @throws Error that names the entry
 */
export function parseStdioCommands (text: string): ReadonlyMap<string, StdioCommand> {
  const entries = text.split(';').map(entry => entry.trim()).filter(entry => entry !== '')
  return new Map(entries.map(entry => {
    const [, name, line] = /^([\w-]+)=(.+)$/s.exec(entry) ?? []
    const [command, ...rest] = Array.from(line?.matchAll(/"([^"]*)"|(\S+)/g) ?? [], match => match[1] ?? match[2] as string)
    if (name === undefined || command === undefined) throw new Error(`MCP_STDIO_COMMANDS: "${entry}" must be name=command arguments`)
    return [name, { command, arguments: rest }]
  }))
}
