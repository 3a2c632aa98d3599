import { type Readable } from 'node:stream'
import { type Command } from 'commander'
import { type ApiClient } from './api-client.ts'
import { type Output } from './output.ts'

/** What the commands of every group are given. */
export interface Cli {
  readonly stdin: Readable
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Aborts when the user interrupts. Calls of `api` end by themselves then. */
  readonly signal: AbortSignal
  /** Whether somebody says where the service is. @throws CliError */
  hasAddress (command: Command): boolean
  /** A service that no option names. @throws CliError */
  connect (url: string, token: string): ApiClient
  /** The service and the output as the options of a command say. @throws CliError */
  open (command: Command): { readonly api: ApiClient, readonly output: Output }
}
