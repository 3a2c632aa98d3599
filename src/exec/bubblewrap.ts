import { execFile } from 'node:child_process'
import { lstat, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ExecutorError } from './executor.ts'

/**
 * The largest number of processes of one sandboxed command. It needs Linux 5.14 or later, which counts processes for each sandbox, and has
 * no effect for root.
 */
const MAX_PROCESSES = 2048

/** The settings of a sandbox, in which one command runs. */
export interface Sandbox {
  /** The only folder that can be written, as a path without links. */
  readonly workspace: string
  readonly hasNetwork: boolean
  /** Files and folders of the service that no program in the sandbox may read. */
  readonly hidden: readonly string[]
  /** A folder of the service that programs in the sandbox may read, and the path in `/tmp` under which they see it. */
  readonly shown?: { readonly from: string, readonly as: string }
}

/** The paths below a home folder where programs keep credentials. A sandbox hides them. */
const CREDENTIALS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.config/gcloud', '.config/gh', '.docker', '.kube', '.netrc', '.npmrc', '.pypirc', '.git-credentials',
  '.password-store', '.vault-token'
]

/**
 * Makes the argument list that runs a program in a sandbox of bubblewrap. The file system is read-only, except the workspace and an empty
 * `/tmp`. The sandbox has its own processes, no capabilities, and no network unless the settings say so. All its processes end with the
 * first one.
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
    // `/run` and `/tmp` contain the sockets of daemons, and a socket can be used even where files are read-only: Docker's gives the rights
    // of root. The second folder is needed to look up host names.
    '--tmpfs', '/run', '--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve', '--tmpfs', '/tmp',
    ...mounts,
    // The workspace is mounted last, since it may lie in a folder that an earlier mount hides.
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
