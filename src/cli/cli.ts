import { type Readable } from 'node:stream'
import { type Command } from 'commander'
import { type ApiClient } from './api-client.ts'
import { type Output } from './output.ts'

/** The environment of all commands: the input, the variables, and access to the service. */
export interface Cli {
  readonly stdin: Readable
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Aborted when the user presses Ctrl-C. Calls of the ApiClient end by themselves then. */
  readonly signal: AbortSignal
  /**
   * Whether an option, a variable or a profile gives the address of a service. Without one, some commands work in this process.
   * @throws CliError
   */
  hasAddress (command: Command): boolean
  /** A client for a service whose address does not come from the options, such as one that the command has just started. @throws CliError */
  connect (url: string, token: string): ApiClient
  /** The client and the output that the options of a command ask for. @throws CliError */
  open (command: Command): { readonly api: ApiClient, readonly output: Output }
}
