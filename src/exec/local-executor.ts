import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, opendir, readdir, readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import type { Readable } from 'node:stream'
import type { Environment } from '../base/text.ts'
import { placesOf } from '../config/service-files.ts'
import { OpenFolder, WorkspaceFiles } from '../files/workspace-files.ts'
import { Captured } from './captured-output.ts'
import {
  entryOf, type Executor, ExecutorError, findFilesBelow, type FolderEntry, type FileMatches, MAX_ENTRIES, type Pty, type PtyOptions, type Ran, type ReadFolder,
  refuseInvalid, type CommandOptions, stopAfter, within
} from './executor.ts'
import { readReport, reportingFolder, SUPERVISOR } from './scripts.ts'

/** In ms, from SIGTERM to SIGKILL. */
const GRACE = 2000

/** In ms. A process outside the command's group can keep the streams open. */
const REST = 500

/** In characters: it has the path of one folder. */
const MAX_REPORT = 8192

/** The process group ends at the timeout, at the abort, and when this process dies. @throws ExecutorError when nothing was started */
async function runInGroup (words: readonly string[], cwd: string, env: Readonly<Record<string, string>>, options: CommandOptions): Promise<Ran> {
  const started = performance.now()
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'sh', ...words], {
    cwd,
    env,
    detached: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe', 'pipe']
  })
  const captured = new Captured(options)
  const [, stdout, stderr, reporting, lifeline] = child.stdio as [unknown, Readable, Readable, Readable, Readable]
  // A program can end without reading all of its stdin, which is no error.
  child.stdin?.on('error', () => {}).end(options.input)
  stdout.on('data', (bytes: Buffer) => { captured.append('stdout', bytes) })
  stderr.on('data', (bytes: Buffer) => { captured.append('stderr', bytes) })
  let report = ''
  reporting.on('data', (bytes: Buffer) => { report = (report + bytes.toString()).slice(-MAX_REPORT) })
  // The watcher may close its end of the pipe first, which is no error.
  lifeline.on('error', () => {})
  const closed = once(child, 'close').catch(() => {})

  const ended = once(child, 'exit')
  let how: Pick<Ran, 'outcome' | 'signal'> = { outcome: 'exited' }
  let killing: NodeJS.Timeout | undefined
  const end = (outcome: 'timeout' | 'cancelled', signal: 'SIGTERM' | 'SIGKILL'): void => {
    const { pid, exitCode, signalCode } = child
    // The system has perhaps given the number of an ended leader to another group, so no signal is sent.
    const isThere = pid !== undefined && exitCode === null && signalCode === null
    how = { outcome, signal: isThere ? signal : how.signal ?? 'SIGTERM' }
    if (isThere) process.kill(-pid, signal)
  }
  const stopping = stopAfter(options.timeout, options.signal, cause => {
    end(cause, 'SIGTERM')
    killing = setTimeout(() => { end(cause, 'SIGKILL') }, GRACE)
  })
  try {
    await ended
  } catch (error) {
    throw new ExecutorError('COMMAND_INVALID', `the command cannot be begun: ${(error as Error).message}`)
  } finally {
    stopping.clear()
    clearTimeout(killing)
  }
  await within(REST, closed)
  for (const stream of [stdout, stderr, reporting, lifeline]) stream.destroy()
  const { exitCode, cwd: endedIn } = readReport(report)
  const isExit = how.outcome === 'exited'
  return {
    ...how,
    ...(isExit && exitCode === null ? { signal: 'SIGKILL' } : {}),
    exitCode: isExit ? exitCode : null,
    ...captured.texts(),
    ...(endedIn === undefined ? {} : { cwd: endedIn }),
    durationMs: Math.round(performance.now() - started)
  }
}

/** Needs Linux 5.14 or later, which counts processes for each sandbox, and does not hold for root. */
const MAX_PROCESSES = 2048

interface Sandbox {
  /** The only folder that can be written, as a path without links. */
  readonly workspace: string
  readonly hasNetwork: boolean
  readonly readable: readonly string[]
  /** A program that could see one of these is not run. */
  readonly secrets: readonly string[]
  /** Empty in the sandbox, and gone afterwards. */
  readonly home: string | undefined
  /** Readable in the sandbox at `as`, a path below `/tmp`. */
  readonly shown?: { readonly from: string, readonly as: string }
}

/** Nothing else is there, so a secret stays unseen wherever it is renamed to: a mount that hides a file is gone when that is replaced. */
const SYSTEM = [
  '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store', '/sys/devices/system', '/etc/ssl/certs', '/etc/ssl/cert.pem',
  '/etc/ssl/openssl.cnf', '/etc/pki/ca-trust', '/etc/pki/java', '/etc/pki/tls/cert.pem', '/etc/pki/tls/certs', '/etc/pki/tls/openssl.cnf'
]

const SETTINGS = new RegExp(`^(?:${[
  'passwd', 'group', 'hosts', 'hostname', 'host\\.conf', 'resolv\\.conf', 'nsswitch\\.conf', 'gai\\.conf', 'services', 'protocols', 'networks', 'ld\\.so\\..*',
  'ld-musl-.*\\.path', 'localtime', 'timezone', 'locale.*', 'alternatives', 'ca-certificates.*', 'crypto-policies', 'terminfo', 'inputrc', 'vim', 'gitconfig',
  'mime\\.types', 'magic', 'fonts', 'java-.*', 'python.*', 'perl', 'os-release', '.*-release', 'debian_version', 'shells', 'mtab'
].join('|')})$`)

/** A folder with one of these can be no workspace, and is not read. */
const CREDENTIALS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.config/gcloud', '.config/gh', '.docker', '.kube', '.netrc', '.npmrc', '.pypirc', '.git-credentials',
  '.password-store', '.vault-token'
]

/** No processes outside, no capabilities, no network unless allowed. @throws ExecutorError when the program would see a secret */
async function sandboxed (program: readonly string[], sandbox: Sandbox): Promise<string[]> {
  const system = await systemMounts()
  const seen = [sandbox.workspace, ...sandbox.readable, ...system.paths]
  const places = [...new Set((await Promise.all(seen.map(async path => [path, await realpath(path).catch(() => path)]))).flat())]
  const credentials = await Promise.all(CREDENTIALS.map(path => realpath(join(homedir(), path)).catch(() => undefined)))
  for (const secret of [...sandbox.secrets, ...credentials.filter(path => path !== undefined)]) {
    const visited = placesOf(secret)
    const around = places.find(place => visited.some(at => isIn(place, at)))
    if (around === undefined) continue
    const where = isIn(sandbox.workspace, around) ? 'in the workspace' : `in ${around}, which commands in it read`
    throw new ExecutorError('SANDBOX_MISSING', `no sandbox hides ${secret}, since it lies ${where}`)
  }
  return wordsOf(program, sandbox, system.words)
}

async function unseenFolders (path: string, { workspace, readable }: Pick<Sandbox, 'workspace' | 'readable'>): Promise<string[]> {
  const seen = [workspace, ...readable, ...SYSTEM]
  const folders = [...new Set(path.split(':'))].filter(folder => folder.startsWith('/') && !seen.some(place => isIn(place, folder)))
  const real = await Promise.all(folders.map(folder => realpath(folder).catch(() => undefined)))
  return folders.filter((_, index) => real[index] !== undefined)
}

function isIn (folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

async function systemMounts (): Promise<{ readonly words: readonly string[], readonly paths: readonly string[] }> {
  const settings = await readdir('/etc').catch(() => [])
  const paths = [...SYSTEM, ...settings.filter(name => SETTINGS.test(name)).map(name => `/etc/${name}`)]
  const mounts = await Promise.all(paths.map(async path => {
    const stats = await lstat(path).catch(() => undefined)
    if (stats === undefined) return []
    // `/bin` and the like stay links into `/usr`; other files are bound as what their links lead to.
    if (stats.isSymbolicLink() && !path.startsWith('/etc/')) return ['--symlink', await readlink(path), path]
    return ['--ro-bind-try', path, path]
  }))
  return { words: mounts.flat(), paths: paths.filter((_, index) => mounts[index]?.[0] === '--ro-bind-try') }
}

function wordsOf (program: readonly string[], { workspace, hasNetwork, readable, home, shown }: Omit<Sandbox, 'secrets'>, system: readonly string[]): string[] {
  return [
    'bwrap', '--unshare-all', ...(hasNetwork ? ['--share-net'] : []), '--die-with-parent', '--cap-drop', 'ALL',
    // Later mounts cover this, where a home lies in one.
    ...(home === undefined || !home.startsWith('/') || home === '/' ? [] : ['--tmpfs', home]),
    ...system, '--dev', '/dev', '--proc', '/proc',
    // Sockets in `/run` and `/tmp` (Docker's gives root) work even read-only; host names are looked up with `/run/systemd/resolve`.
    '--tmpfs', '/run', '--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve', '--tmpfs', '/tmp',
    ...readable.flatMap(path => ['--ro-bind', path, path]),
    ...(shown === undefined ? [] : ['--ro-bind', shown.from, shown.as]),
    // Mounted last: perhaps it lies in a folder of an earlier mount.
    '--bind', workspace, workspace, '--remount-ro', '/',
    '--', '/bin/sh', '-c', `ulimit -u ${MAX_PROCESSES} 2>/dev/null || ulimit -p ${MAX_PROCESSES} 2>/dev/null; exec "$@"`, 'sh', ...program
  ]
}

export async function whyNoSandbox (): Promise<string | undefined> {
  const { words: system } = await systemMounts()
  const [program, ...words] = wordsOf(['true'], { workspace: '/tmp', hasNetwork: false, readable: [], home: undefined }, system)
  return await new Promise(resolve => {
    execFile(program as string, words, { timeout: 5000 }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trim().split('\n', 1)[0] || error.message)
    })
  })
}

export interface LocalExecutorOptions {
  /** A path without links. */
  readonly workspace: string
  readonly sandbox: 'auto' | 'required' | 'off'
  readonly hasNetwork: boolean
  /** The whole environment: commands get no other variable. */
  readonly environment: Readonly<Record<string, string>>
  readonly readable?: readonly string[] | undefined
  /** No command in a sandbox may see these paths. */
  readonly secrets: readonly string[]
  readonly mayRunAsRoot: boolean
  readonly terminals?: string | undefined
  /** Called once, with the reason, if `sandbox` is `auto` and no sandbox works on this machine. */
  readonly onBare?: (reason: string) => void
  /** Called at most once, with folders of commands that the jail does not show. */
  readonly onUnseen?: (folders: readonly string[]) => void
}

const SHOWN_FILES = '/tmp/.aps'

/** Runs commands on this machine, in a sandbox if there is one. */
export class LocalExecutor implements Executor {
  readonly #options: LocalExecutorOptions
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Ran>>()
  #probe: Promise<string | undefined> | undefined

  constructor (options: LocalExecutorOptions) {
    this.#options = options
  }

  async run (command: string, options: CommandOptions): Promise<Ran> {
    refuseInvalid(command)
    return await this.runProgram(['/bin/sh', '-c', reportingFolder(command)], options)
  }

  /** Without a shell. @throws ExecutorError when nothing was run */
  async runProgram (program: readonly string[], options: CommandOptions): Promise<Ran> {
    const { workspace, environment } = this.#options
    this.#refuseRoot()
    const cwd = await truePathInside(workspace, workspace, options.cwd ?? workspace)
    if (cwd === undefined) {
      throw new ExecutorError('FOLDER_INVALID', `expected a folder of the workspace to begin in, got ${JSON.stringify(options.cwd ?? workspace)}`)
    }
    const words = await this.#wordsFor(program)
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const running = runInGroup(words, cwd, environment, { ...options, signal })
    this.#running.add(running)
    try {
      const ran = await running
      // A command can end outside of the workspace; the next one still begins inside of it.
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
    return await openLocalPty(cwd, environment, state, async (program, files) => {
      const words = await this.#wordsFor(program, { from: files, as: SHOWN_FILES })
      const isJailed = words !== program
      return { words, isJailed, files: isJailed ? SHOWN_FILES : files }
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

  async findFiles (folder: string, name: string, signal: AbortSignal): Promise<FileMatches> {
    return await findFilesBelow(folder, name, readFolderInside(this.#options.workspace), signal)
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
  }

  #refuseRoot (): void {
    if (this.#options.mayRunAsRoot || process.getuid?.() !== 0) return
    throw new ExecutorError('ROOT_REFUSED', 'this service runs as root, and so runs no commands: run it as another user, or set ALLOW_ROOT=true')
  }

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
    if (reason === undefined) return await sandboxed(program, { workspace, hasNetwork, readable, secrets, home, shown })
    if (sandbox === 'required') throw new ExecutorError('SANDBOX_MISSING', `the operator wants a sandbox, and bubblewrap does not work here: ${reason}`)
    return program
  }
}

const ALWAYS = ['PATH', 'HOME', 'LANG']

/** Secrets in other variables of the service stay hidden from commands. */
export function environmentOf (service: Environment, names: readonly string[]): Record<string, string> {
  const given = [...ALWAYS, ...names].flatMap(name => service[name] === undefined ? [] : [[name, service[name]] as const])
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', TERM: 'dumb', ...Object.fromEntries(given) }
}

/** `undefined` for a path that does not exist, or that leads out of `root`, which has no links. */
async function truePathInside (root: string, from: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(resolve(from, path))
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : undefined
  } catch {
    return undefined
  }
}

/** Follows no links, so it never leaves the root. */
function readFolderInside (root: string): ReadFolder {
  return async path => {
    let folder = await OpenFolder.open(root).catch(() => undefined)
    try {
      for (const part of path.split('/').filter(part => part !== '.')) {
        const child = part === '..' ? undefined : await folder?.child(part).catch(() => undefined)
        await folder?.close()
        folder = child
      }
      if (folder === undefined) return undefined
      const entries: FolderEntry[] = []
      for await (const entry of await opendir(folder.path)) {
        if (entries.push(...entryOf(entry.name, entry)) >= MAX_ENTRIES) break
      }
      return entries
    } catch {
      return undefined
    } finally {
      await folder?.close()
    }
  }
}
