import { type BaseUrls, createBaseUrls, type ModuleDirectory, parseBaseUrls, parseOperatorsUrl } from './definition/base-urls.ts'
import { createEgress, type Egress, type EgressOptions } from './egress.ts'
import { DEFAULT_POLICY, type PolicyDefaults } from './call/policy.ts'
import { parseSecrets, type Secrets } from './definition/secrets.ts'
import { parseStdioCommands, type StdioCommand } from './mcp/stdio-command.ts'
import { SYSTEM_TLS, type TlsFiles } from './tls.ts'

/** What the operator of this service allows and provides for tools. A tool's registration can use only this. */
export interface Operator {
  readonly egress: Egress
  readonly secrets: Secrets
  readonly baseUrls: BaseUrls
  /** The commands with which MCP servers may be started, by name. */
  readonly commands: ReadonlyMap<string, StdioCommand>
  readonly tls: TlsFiles
  readonly policy: PolicyDefaults
}

/** What the operator allows for tools, as it is written in environment variables. */
export interface OperatorSettings {
  /** The variable `EGRESS`: where tools may connect. */
  readonly egress: EgressOptions['mode']
  /** The variable `EGRESS_ALLOW`: CIDRs, addresses and host names, separated by commas. */
  readonly egressAllow: string
  /** The variable `TOOL_BASE_URLS`: `module=url,…`. */
  readonly baseUrls: string
  /** The variable `TOOL_BASE_URL`, for all other modules; `''` for none. */
  readonly baseUrl: string
  /** The variable `TOOL_SECRETS`: `NAME=host|host,…`. */
  readonly secrets: string
  /** The variable `MCP_STDIO_COMMANDS`: `name=command argument;…`. */
  readonly stdioCommands: string
  /** The environment, in which the values of the secrets are: `TOOL_SECRET_NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly tls?: TlsFiles
  readonly policy?: PolicyDefaults
}

/**
 * Parses what the operator allows for tools.
 * @param modules where modules publish their addresses
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
