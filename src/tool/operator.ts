import { type BaseUrls, createBaseUrls, type ModuleDirectory, parseBaseUrls, parseOperatorsUrl } from './definition/base-urls.ts'
import { createEgress, type Egress, type EgressOptions } from './egress.ts'
import { DEFAULT_POLICY, type PolicyDefaults } from './call/policy.ts'
import { parseSecrets, type Secrets } from './definition/secrets.ts'
import { parseStdioCommands, type StdioCommand } from './mcp/stdio-command.ts'
import { SYSTEM_TLS, type TlsFiles } from './tls.ts'

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
