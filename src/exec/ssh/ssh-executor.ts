import { type SshTarget } from '../../config/operator.ts'
import { isProtected, normalisePath } from '../../files/path-rules.ts'
import { type Executor, ExecutorError, type Ran, refuseInvalid, type RunOptions } from '../executor.ts'
import { type Found } from '../find-files.ts'
import { type Pty, type PtyOptions } from '../pty.ts'
import { findOverSftp } from './find-over-sftp.ts'
import { readOverSftp } from './read-over-sftp.ts'
import { runOverSsh } from './run-over-ssh.ts'
import { SshConnection } from './ssh-connection.ts'

/**
 * The most commands that run at a time on one remote machine. OpenSSH allows 10 sessions on a connection, and ending a command or reading a file
 * needs a session too.
 */
const MAX_RUNNING = 8

/** An executor that runs commands on a remote machine over SSH. */
export class SshExecutor implements Executor {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  readonly #connection: SshConnection
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Ran>>()

  /** Creates the executor for one remote machine. @param agent the socket of an SSH agent that has the key, for a target without a key file */
  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
    this.#connection = new SshConnection(target, agent)
  }

  async run (command: string, options: RunOptions): Promise<Ran> {
    refuseInvalid(command)
    if (this.#running.size >= MAX_RUNNING) throw new ExecutorError('TARGET_BUSY', `target "${this.#target.name}" runs ${MAX_RUNNING} commands already`)
    const running = this.#run(command, options)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined> {
    const isOfHome = path.startsWith('~/')
    const named = normalisePath(isOfHome ? path.slice(2) : path)
    if ('code' in named || isProtected(named.path)) return undefined
    // SFTP paths are relative to the home folder of the remote user.
    const root = isOfHome ? '.' : this.#target.cwd ?? '.'
    return await this.#connection.use(async client => await readOverSftp(client, { root, path: named.path, limit, signal }).catch(() => undefined))
  }

  async findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found> {
    const isOfHome = folder.startsWith('~/')
    const search = { root: isOfHome ? '.' : this.#target.cwd ?? '.', folder: isOfHome ? folder.slice(2) : folder, name, signal }
    const found = await this.#connection.use(client => findOverSftp(client, search))
    if (!isOfHome) return found
    return { ...found, paths: found.paths.map(path => `~/${path}`), others: found.others.map(({ path, reason }) => ({ path: `~/${path}`, reason })) }
  }

  async openPty (options: PtyOptions): Promise<Pty> {
    const { openSshPty } = await import('./ssh-pty.ts')
    return await openSshPty(this.#target, this.#agent, options)
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    this.#connection.renew()
  }

  async #run (command: string, options: RunOptions): Promise<Ran> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const ran = await this.#connection.use(async client => {
      // The caller has perhaps cancelled the command while the connection was opened.
      if (signal.aborted) return { outcome: 'cancelled', exitCode: null, stdout: '', stderr: '', durationMs: 0 } as const
      return await runOverSsh(client, command, { ...options, cwd: options.cwd ?? this.#target.cwd, signal })
    })
    // A command was lost when its connection broke or its end was not confirmed. The next command gets a new connection: on a broken one it would be lost too.
    if (ran.outcome === 'lost') this.#connection.renew()
    return ran
  }
}
