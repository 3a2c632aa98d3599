import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { WorkspaceFiles } from '../files/workspace-files.ts'
import { type Sandbox, sandboxed, unseenFolders, whyNoSandbox } from './bubblewrap.ts'
import { type Executor, ExecutorError, type Ran, refuseInvalid, type RunOptions } from './executor.ts'
import { findFilesBelow, type Found } from './find-files.ts'
import { readFolderInside } from './read-folder-inside.ts'
import { runInGroup } from './process-group.ts'
import { type Pty, type PtyOptions } from './pty.ts'
import { reportingFolder } from './shell-scripts.ts'

export interface LocalExecutorOptions {
  /** The folder that commands are jailed to, as a path without links. */
  readonly workspace: string
  readonly sandbox: 'auto' | 'required' | 'off'
  readonly hasNetwork: boolean
  /** The whole environment of commands; they get no other variable. */
  readonly environment: Readonly<Record<string, string>>
  /** Files and folders that commands in a sandbox can read, beside those of the system. @default none */
  readonly readable?: readonly string[] | undefined
  /** Files and folders of the service, which no command in a sandbox may see. */
  readonly secrets: readonly string[]
  /** Whether the operator allows commands when this process runs as root. */
  readonly mayRunAsRoot: boolean
  /** The path of the folder in which the service writes files for the shells in terminals. @default there are no terminals */
  readonly terminals?: string | undefined
  /** Called once, with the reason, when commands run without a sandbox. That happens only if `sandbox` is `auto` and no sandbox works on this machine. */
  readonly onBare?: (reason: string) => void
  /** Called once when commands run in a sandbox that does not show some folders of `PATH`. */
  readonly onUnseen?: (folders: readonly string[]) => void
}

/** The path, in a sandbox, of the folder into which the service writes files for a terminal's shell (see `Pty.putFile`). */
const SHOWN_FILES = '/tmp/.aps'

/** An executor that runs commands on this machine, in a sandbox if there is one. */
export class LocalExecutor implements Executor {
  readonly #options: LocalExecutorOptions
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Ran>>()
  #probe: Promise<string | undefined> | undefined

  constructor (options: LocalExecutorOptions) {
    this.#options = options
  }

  async run (command: string, options: RunOptions): Promise<Ran> {
    refuseInvalid(command)
    return await this.runProgram(['/bin/sh', '-c', reportingFolder(command)], options)
  }

  /** Runs a program with its arguments directly, without a shell that would interpret them. @throws ExecutorError when nothing was run */
  async runProgram (program: readonly string[], options: RunOptions): Promise<Ran> {
    const { workspace, environment } = this.#options
    this.#refuseRoot()
    const cwd = await truePathInside(workspace, workspace, options.cwd ?? workspace)
    if (cwd === undefined) {
      throw new ExecutorError('FOLDER_INVALID', `expected a folder of the workspace to begin in, got ${JSON.stringify(options.cwd ?? workspace)}`)
    }
    const words = await this.#wordsFor(program)
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const running = runInGroup(words, { ...options, cwd, environment, signal })
    this.#running.add(running)
    try {
      const ran = await running
      // A command can end in a folder outside of the workspace. The next command still begins inside the workspace: where this command began.
      return { ...ran, cwd: await truePathInside(workspace, workspace, ran.cwd ?? cwd) ?? cwd }
    } finally {
      this.#running.delete(running)
    }
  }

  async openPty (options: PtyOptions): Promise<Pty> {
    this.#refuseRoot()
    const { workspace: cwd, environment, terminals: state } = this.#options
    if (state === undefined) throw new ExecutorError('TERMINAL_UNSUPPORTED', 'there are no terminals here')
    const { openLocalPty } = await import('./local-pty.ts')
    return await openLocalPty({
      cwd,
      environment,
      state,
      wordsFor: async (program, files) => {
        const words = await this.#wordsFor(program, { from: files, as: SHOWN_FILES })
        const isJailed = words !== program
        return { words, isJailed, files: isJailed ? SHOWN_FILES : files }
      }
    }, options)
  }

  async readText (path: string, limit: number): Promise<string | undefined> {
    try {
      const files = new WorkspaceFiles({ root: this.#options.workspace })
      const { bytes } = await files.read(await files.resolve(path))
      return bytes.length > limit ? undefined : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      return undefined
    }
  }

  async findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found> {
    return await findFilesBelow(folder, name, readFolderInside(this.#options.workspace), signal)
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
  }

  /** Refuses to run commands while this process is root. @throws ExecutorError unless the operator allows root */
  #refuseRoot (): void {
    if (this.#options.mayRunAsRoot || process.getuid?.() !== 0) return
    throw new ExecutorError('ROOT_REFUSED', 'this service runs as root, and so runs no commands: run it as another user, or set ALLOW_ROOT=true')
  }

  /**
   * Makes the argument list that runs a program, in a sandbox if there is one.
   * @param shown a folder of the service that the program must be able to read
   * @returns `program` itself when there is no sandbox
   */
  async #wordsFor (program: readonly string[], shown?: Sandbox['shown']): Promise<readonly string[]> {
    const { sandbox, workspace, hasNetwork, readable = [], secrets, environment: { HOME: home, PATH: path = '' }, onBare, onUnseen } = this.#options
    if (sandbox === 'off') return program
    this.#probe ??= whyNoSandbox().then(async reason => {
      if (reason !== undefined && sandbox === 'auto') onBare?.(reason)
      const unseen = reason === undefined ? await unseenFolders(path, { workspace, readable }) : []
      if (unseen.length > 0) onUnseen?.(unseen)
      return reason
    })
    const reason = await this.#probe
    if (reason === undefined) return await sandboxed(program, { workspace, hasNetwork, readable, secrets, home, ...(shown === undefined ? {} : { shown }) })
    if (sandbox === 'required') throw new ExecutorError('SANDBOX_MISSING', `the operator wants a sandbox, and bubblewrap does not work here: ${reason}`)
    return program
  }
}

/** The names of the environment variables that every command gets from the service. The operator can list further ones. */
const ALWAYS = ['PATH', 'HOME', 'LANG']

/**
 * Makes the environment of commands: of the service's own environment only the variables in `ALWAYS` and in the operator's list, so that secrets in
 * other variables stay hidden.
 * @param names the operator's list of variables
 */
export function environmentOf (service: Readonly<Record<string, string | undefined>>, names: readonly string[]): Record<string, string> {
  const given = [...ALWAYS, ...names].flatMap(name => service[name] === undefined ? [] : [[name, service[name]] as const])
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', TERM: 'dumb', ...Object.fromEntries(given) }
}

/**
 * Resolves a path and all its links; `undefined` for a path that does not exist, or that leads out of the root folder.
 * @param root the folder that the path may not leave, as a path without links
 * @param from the folder to which `path` is relative
 */
async function truePathInside (root: string, from: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(resolve(from, path))
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : undefined
  } catch {
    return undefined
  }
}
