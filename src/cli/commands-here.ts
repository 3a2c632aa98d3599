import { type JsonObject } from '../base/json.ts'
import { environmentOf, LocalExecutor } from '../exec/local-executor.ts'
import { type Cli } from './context.ts'

/** In ms; long, because the user watches the command. */
const TIMEOUT = 3_600_000

/** Bytes of stdout, and as many of stderr, sent to the service; the model gets fewer. */
const TOLD = 64 * 1024

/** For a person's own machine, beside those of every skill's commands; none has a secret of a service. */
const ENVIRONMENT = ['USER', 'LOGNAME', 'TMPDIR', 'LC_ALL', 'XDG_CONFIG_HOME', 'SSH_AUTH_SOCK']

/** Each command begins in the folder in which the one before it ended. */
export class CommandsHere {
  readonly #executor: LocalExecutor
  readonly #signal: AbortSignal
  #cwd: string | undefined

  /** @param folder an absolute path without symbolic links */
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

  /** @returns `undefined` when the user has interrupted it @throws ExecutorError when it could not be started */
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
