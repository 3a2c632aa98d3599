import { type BaseUrls, createBaseUrls, type ModuleDirectory, parseBaseUrls, parseOperatorsUrl } from './definition/base-urls.ts'
import { createEgress, type Egress, type EgressOptions } from './egress.ts'
import { DEFAULT_POLICY, type PolicyDefaults } from './call/policy.ts'
import { parseSecrets, type Secrets } from './definition/secrets.ts'
import { parseStdioCommands, type StdioCommand } from './mcp/stdio-command.ts'
import { SYSTEM_TLS, type TlsFiles } from './tls.ts'

/** What the operator of this service grants to tools; registrations choose within it. */
export interface Operator {
  readonly egress: Egress
  readonly secrets: Secrets
  readonly baseUrls: BaseUrls
  /** Commands that MCP servers may be started with, by name. */
  readonly commands: ReadonlyMap<string, StdioCommand>
  readonly tls: TlsFiles
  readonly policy: PolicyDefaults
}

/** The same as the operator writes it, in environment variables. */
export interface OperatorSettings {
  /** `EGRESS` */
  readonly egress: EgressOptions['mode']
  /** `EGRESS_ALLOW`: CIDRs, addresses and host names, comma-separated. */
  readonly egressAllow: string
  /** `TOOL_BASE_URLS`: `module=url,…` */
  readonly baseUrls: string
  /** `TOOL_BASE_URL`, for all other modules; `''` for none. */
  readonly baseUrl: string
  /** `TOOL_SECRETS`: `NAME=host|host,…` */
  readonly secrets: string
  /** `MCP_STDIO_COMMANDS`: `name=command argument;…` */
  readonly stdioCommands: string
  /** The environment, for the values of the secrets: `TOOL_SECRET_NAME`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly tls?: TlsFiles
  readonly policy?: PolicyDefaults
}

/**
 * Reads what the operator grants.
 * @param modules where modules publish their addresses
 * @throws Error that names the variable and the entry; the start ends with it
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
