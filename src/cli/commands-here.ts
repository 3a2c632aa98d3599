import { type JsonObject } from '../base/json.ts'
import { environmentOf, LocalExecutor } from '../exec/local-executor.ts'
import { type Cli } from './cli.ts'

/** How long a command may run while its user watches, in ms. */
const TIMEOUT = 3_600_000

/** How much of each stream is sent to the service, in bytes; a model reads less. */
const TOLD = 64 * 1024

/** The variables that a person's tools need, beside those of every command. None of them is a secret of a service. */
const ENVIRONMENT = ['USER', 'LOGNAME', 'TMPDIR', 'LC_ALL', 'XDG_CONFIG_HOME', 'SSH_AUTH_SOCK']

/** Runs commands for the person at the terminal, where that person is: each begins where the one before it has ended. */
export class CommandsHere {
  readonly #executor: LocalExecutor
  readonly #signal: AbortSignal
  #cwd: string | undefined

  /** @param folder absolute and without links; what is begun elsewhere is begun here */
  constructor (folder: string, { environment, signal }: Pick<Cli, 'environment' | 'signal'>) {
    this.#executor = new LocalExecutor({
      workspace: folder,
      sandbox: 'off',
      hasNetwork: true,
      environment: environmentOf(environment, ENVIRONMENT),
      hidden: [],
      mayRunAsRoot: true
    })
    this.#signal = signal
  }

  /**
   * @param onOutput called with all that the command prints, as it comes
   * @returns the result of the command; `undefined` when the user has interrupted it
   * @throws ExecutorError when nothing was run
   */
  async run (command: string, onOutput: (text: string) => void): Promise<JsonObject | undefined> {
    const { outcome, exitCode, stdout, stderr, cwd } = await this.#executor.run(command, {
      cwd: this.#cwd,
      timeout: TIMEOUT,
      signal: this.#signal,
      keep: TOLD,
      onOutput: (_stream, text) => { onOutput(text) }
    })
    if (outcome === 'cancelled') return undefined
    this.#cwd = cwd
    return { stdout, stderr, exitCode: exitCode ?? 1, command }
  }

  async close (): Promise<void> {
    await this.#executor.close()
  }
}
