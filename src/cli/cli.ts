import { type Readable } from 'node:stream'
import { type Command } from 'commander'
import { type ApiClient } from './api-client.ts'
import { type Output } from './output.ts'

/** What every command works with: the input, the environment variables, and access to the service. */
export interface Cli {
  readonly stdin: Readable
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Aborts when the user presses Ctrl-C. All calls of the ApiClient end then. */
  readonly signal: AbortSignal
  /** A client for a service whose address does not come from the options, such as one that the command has just started. @throws CliError */
  connect (url: string, token: string): ApiClient
  /** The client and the output that the options of a command ask for. @throws CliError */
  open (command: Command): { readonly api: ApiClient, readonly output: Output }
}
