import { execFile } from 'node:child_process'
import { lstat, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ExecutorError } from './executor.ts'

/** The most processes of one sandboxed command. The limit needs Linux 5.14 or later, which counts processes for each sandbox, and does not hold for root. */
const MAX_PROCESSES = 2048

/** The settings of a sandbox, in which one command runs. */
export interface Sandbox {
  /** The only folder that can be written, as a path without links. */
  readonly workspace: string
  readonly hasNetwork: boolean
  /** Files and folders of the service that are hidden from every program in the sandbox. */
  readonly hidden: readonly string[]
  /** A folder of the service that programs in the sandbox can read, and the path, below `/tmp`, at which they find it. */
  readonly shown?: { readonly from: string, readonly as: string }
}

/** The paths below a home folder where programs keep credentials. A sandbox hides them. */
const CREDENTIALS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.config/gcloud', '.config/gh', '.docker', '.kube', '.netrc', '.npmrc', '.pypirc', '.git-credentials',
  '.password-store', '.vault-token'
]

/**
 * Makes the argument list that runs a program in a sandbox of bubblewrap. The file system is read-only, except the workspace and an empty `/tmp`.
 * The program sees no processes outside of the sandbox, has no capabilities, and has no network unless the settings allow it. When the sandbox's
 * first process ends, all others end too.
 * @throws ExecutorError when something that has to be hidden lies in the workspace: a command could move it, and so uncover it
 */
export async function sandboxed (program: readonly string[], { workspace, hasNetwork, hidden, shown: folder }: Sandbox): Promise<string[]> {
  const masks = (await Promise.all([...CREDENTIALS.map(path => join(homedir(), path)), ...hidden].map(maskOf))).filter(mask => mask !== undefined)
  const shown = masks.find(({ path }) => path === workspace || path.startsWith(workspace.endsWith('/') ? workspace : `${workspace}/`))
  if (shown !== undefined) throw new ExecutorError('SANDBOX_MISSING', `no sandbox hides ${shown.path}, since it lies in the workspace`)
  const shows = folder === undefined ? [] : ['--ro-bind', folder.from, folder.as]
  return wordsOf(program, workspace, hasNetwork, [...masks.flatMap(({ words }) => words), ...shows])
}

function wordsOf (program: readonly string[], workspace: string, hasNetwork: boolean, mounts: readonly string[]): string[] {
  return [
    'bwrap', '--unshare-all', ...(hasNetwork ? ['--share-net'] : []), '--die-with-parent', '--cap-drop', 'ALL',
    '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc',
    // `/run` and `/tmp` contain sockets of daemons. A program can use a socket even where files are read-only, and Docker's socket gives it the
    // rights of root. `/run/systemd/resolve` stays visible, because host names are looked up with it.
    '--tmpfs', '/run', '--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve', '--tmpfs', '/tmp',
    ...mounts,
    // The workspace is mounted last: perhaps it lies in a folder that an earlier mount hides.
    '--bind', workspace, workspace,
    '--', '/bin/sh', '-c', `ulimit -u ${MAX_PROCESSES} 2>/dev/null || ulimit -p ${MAX_PROCESSES} 2>/dev/null; exec "$@"`, 'sh', ...program
  ]
}

/** Tests whether bubblewrap, which makes sandboxes, works on this machine. @returns `undefined` if so, else the reason why not */
export async function whyNoSandbox (): Promise<string | undefined> {
  const [program, ...words] = wordsOf(['true'], '/tmp', false, [])
  return await new Promise(resolve => {
    execFile(program as string, words, { timeout: 5000 }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trim().split('\n', 1)[0] || error.message)
    })
  })
}

/** The arguments that hide a file or folder by putting an empty one in its place; `undefined` where the path does not exist. */
async function maskOf (path: string): Promise<{ readonly path: string, readonly words: readonly string[] } | undefined> {
  try {
    const real = await realpath(path)
    const words = (await lstat(real)).isDirectory() ? ['--tmpfs', real] : ['--ro-bind', '/dev/null', real]
    return { path: real, words }
  } catch {
    return undefined
  }
}
