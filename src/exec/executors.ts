import { type Log } from '../runtime/telemetry.ts'
import { type OperatorFile, type Target, type Workspace } from '../config/operator.ts'
import { type Executor } from './executor.ts'
import { environmentOf, LocalExecutor, type LocalExecutorOptions } from './local-executor.ts'

export interface ExecutorsOptions {
  readonly operator: OperatorFile
  /** The environment variables of the service. Commands get only those that the operator lists, and a few that every command needs. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Files and folders of the service, which no command in a sandbox may see. */
  readonly secrets: readonly string[]
  /** Whether the operator allows commands on this machine when the service itself runs as root. */
  readonly mayRunAsRoot: boolean
  /** The path of the folder in which the service writes files for terminals' shells on this machine. @default there are no terminals on this machine */
  readonly terminals?: string
  readonly log: Log
}

/** The executors (objects that run commands) of all targets and workspaces that the operator has configured. Each executor is opened with its first use. */
export class Executors {
  readonly #options: ExecutorsOptions
  readonly #open = new Map<string, Promise<Executor>>()

  constructor (options: ExecutorsOptions) {
    this.#options = options
  }

  /** The executor for a target (a machine or jailed folder for commands), by the target's name; `undefined` for a name that is not configured. */
  async ofTarget (name: string): Promise<Executor | undefined> {
    const target = this.#options.operator.targets.get(name)
    return target === undefined ? undefined : await this.#opened(`target ${name}`, () => this.#openTarget(target))
  }

  /**
   * The executor for a workspace (a folder of files), by the workspace's name. Its commands run in a sandbox where sandboxes work on this machine.
   * `undefined` for a name that the operator has not configured.
   */
  async ofWorkspace (name: string): Promise<LocalExecutor | undefined> {
    const workspace = this.#options.operator.workspaces.get(name)
    return workspace === undefined
      ? undefined
      : await this.#opened(`workspace ${name}`, async () => this.#openLocal(workspace, { sandbox: 'auto', hasNetwork: false }, []))
  }

  /** Closes all executors, and so ends all commands. */
  async close (): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), async opening => { await (await opening.catch(() => undefined))?.close() }))
  }

  /** Gives the executor with this key; the first call with a key opens the executor. All calls with the same key must expect the same type of executor. */
  #opened<E extends Executor> (key: string, open: () => Promise<E>): Promise<E> {
    const opening = this.#open.get(key) as Promise<E> | undefined ?? open()
    this.#open.set(key, opening)
    return opening
  }

  async #openTarget (target: Target): Promise<Executor> {
    if (target.type === 'local') return this.#openLocal(target.workspace, target, target.environment)
    // The SSH code takes a tenth of a second to load, so it is loaded only when a target needs it.
    const { SshExecutor } = await import('./ssh-executor.ts')
    return new SshExecutor(target, this.#options.environment['SSH_AUTH_SOCK'])
  }

  #openLocal (workspace: Workspace, { sandbox, hasNetwork }: Pick<LocalExecutorOptions, 'sandbox' | 'hasNetwork'>, names: readonly string[]): LocalExecutor {
    const { environment, secrets, mayRunAsRoot, terminals, log } = this.#options
    return new LocalExecutor({
      workspace: workspace.path,
      sandbox,
      hasNetwork,
      mayRunAsRoot,
      terminals,
      environment: environmentOf(environment, names),
      readable: workspace.readable,
      secrets,
      onBare (reason) { log.warn({ workspace: workspace.name, reason }, 'commands run without a sandbox') },
      onUnseen (folders) {
        log.warn({ workspace: workspace.name, folders }, 'commands in the sandbox do not see these folders of PATH: "readable" of the workspace shows them')
      }
    })
  }
}
