import type { Environment } from '../base/text.ts'
import { type Log } from '../runtime/telemetry.ts'
import { type OperatorFile, type Target, type Workspace } from '../config/operator.ts'
import { type Executor } from './executor.ts'
import { environmentOf, LocalExecutor, type LocalExecutorOptions } from './local-executor.ts'

interface ExecutorsOptions {
  readonly operator: OperatorFile
  /** Commands get only what the operator lists, and a few that every command needs. */
  readonly environment: Environment
  /** No command in a sandbox may see these paths. */
  readonly secrets: readonly string[]
  readonly mayRunAsRoot: boolean
  /** @default there are no terminals on this machine */
  readonly terminals?: string
  readonly log: Log
}

/** All targets' and workspaces' executors, each opened with its first use. */
export class Executors {
  readonly #options: ExecutorsOptions
  readonly #open = new Map<string, Promise<Executor>>()

  constructor (options: ExecutorsOptions) {
    this.#options = options
  }

  async ofTarget (name: string): Promise<Executor | undefined> {
    const target = this.#options.operator.targets.get(name)
    return target === undefined ? undefined : await this.#opened(`target ${name}`, () => this.#openTarget(target))
  }

  /** In a sandbox, where sandboxes work on this machine. */
  async ofWorkspace (name: string): Promise<LocalExecutor | undefined> {
    const workspace = this.#options.operator.workspaces.get(name)
    return workspace === undefined
      ? undefined
      : await this.#opened(`workspace ${name}`, async () => this.#openLocal(workspace, { sandbox: 'auto', hasNetwork: false }, []))
  }

  async close (): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), async opening => { await (await opening.catch(() => undefined))?.close() }))
  }

  /** All calls with the same key must expect the same type of executor. */
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
