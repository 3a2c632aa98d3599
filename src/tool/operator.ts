import { type BaseUrls } from './base-urls.ts'
import { type Egress } from './egress.ts'
import { type PolicyDefaults } from './policy.ts'
import { type Secrets } from './secrets.ts'
import { type StdioCommand } from './stdio-command.ts'
import { type TlsFiles } from './tls.ts'

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
