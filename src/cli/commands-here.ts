import { type JsonObject } from '../base/json.ts'
import { environmentOf, LocalExecutor } from '../exec/local-executor.ts'
import { type Cli } from './context.ts'

/** The longest time, in ms, that a command can run. It is long because the user watches the command. */
const TIMEOUT = 3_600_000

/** The most bytes of a command's stdout, and as many of its stderr, that are sent to the service. The model gets fewer. */
const TOLD = 64 * 1024

/**
 * Environment variables that commands on a person's own machine need, in addition to those that every command of a skill gets. None of them
 * has a secret of a service.
 */
const ENVIRONMENT = ['USER', 'LOGNAME', 'TMPDIR', 'LC_ALL', 'XDG_CONFIG_HOME', 'SSH_AUTH_SOCK']

/** Runs the commands of a skill on the user's own machine. Each command begins in the folder in which the one before it ended. */
export class CommandsHere {
  readonly #executor: LocalExecutor
  readonly #signal: AbortSignal
  #cwd: string | undefined

  /** Makes the runner of commands. @param folder where the first command begins: an absolute path without symbolic links */
  constructor (folder: string, { environment, signal }: Pick<Cli, 'environment' | 'signal'>) {
    this.#executor = new LocalExecutor({
      workspace: folder,
      sandbox: 'off',
      hasNetwork: true,
      environment: environmentOf(environment, ENVIRONMENT),
      secrets: [],
      mayRunAsRoot: true
    })
    this.#signal = signal
  }

  /**
   * Runs one command.
   * @param onOutput called with each piece of the command's output, as soon as it comes
   * @returns the result of the command; `undefined` when the user has interrupted it
   * @throws ExecutorError when the command could not be started
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
