import { execFile } from 'node:child_process'
import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { placesOf } from '../config/own-files.ts'
import { ExecutorError } from './executor.ts'

/** The most processes of one sandboxed command. The limit needs Linux 5.14 or later, which counts processes for each sandbox, and does not hold for root. */
const MAX_PROCESSES = 2048

/** The settings of a sandbox, in which one command runs. */
export interface Sandbox {
  /** The only folder that can be written, as a path without links. */
  readonly workspace: string
  readonly hasNetwork: boolean
  /** Files and folders that the operator lets commands read, beside those of the system. */
  readonly readable: readonly string[]
  /** Files and folders of the service. A program that could see one of them is not run. */
  readonly secrets: readonly string[]
  /** The home folder of commands, which is empty in the sandbox, and gone afterwards. */
  readonly home: string | undefined
  /** A folder of the service that programs in the sandbox can read, and the path, below `/tmp`, at which they find it. */
  readonly shown?: { readonly from: string, readonly as: string }
}

/**
 * What programs in a sandbox see of the system, read-only: programs and their libraries, and those settings that every user may read and that programs
 * need. Nothing else is there, so a secret stays unseen wherever it is renamed to: a file that hides another one is gone when that is replaced.
 */
const SYSTEM = [
  '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store', '/sys/devices/system', '/etc/ssl/certs', '/etc/ssl/cert.pem',
  '/etc/ssl/openssl.cnf', '/etc/pki/ca-trust', '/etc/pki/java', '/etc/pki/tls/cert.pem', '/etc/pki/tls/certs', '/etc/pki/tls/openssl.cnf'
]

/** Matches the files and folders of `/etc` that programs in a sandbox see. */
const SETTINGS = new RegExp(`^(?:${[
  'passwd', 'group', 'hosts', 'hostname', 'host\\.conf', 'resolv\\.conf', 'nsswitch\\.conf', 'gai\\.conf', 'services', 'protocols', 'networks', 'ld\\.so\\..*',
  'ld-musl-.*\\.path', 'localtime', 'timezone', 'locale.*', 'alternatives', 'ca-certificates.*', 'crypto-policies', 'terminfo', 'inputrc', 'vim', 'gitconfig',
  'mime\\.types', 'magic', 'fonts', 'java-.*', 'python.*', 'perl', 'os-release', '.*-release', 'debian_version', 'shells', 'mtab'
].join('|')})$`)

/** The paths below a home folder where programs keep credentials. A folder with one of them can be no workspace, and is not read. */
const CREDENTIALS = [
  '.ssh', '.gnupg', '.aws', '.azure', '.config/gcloud', '.config/gh', '.docker', '.kube', '.netrc', '.npmrc', '.pypirc', '.git-credentials',
  '.password-store', '.vault-token'
]

/**
 * Makes the argument list that runs a program in a sandbox of bubblewrap. The program sees the workspace, which it can write, an empty `/tmp` and home,
 * the system, and what the operator lets it read. It sees no processes outside of the sandbox, has no capabilities, and has no network unless the
 * settings allow it. When the sandbox's first process ends, all others end too.
 * @throws ExecutorError when something that has to stay unseen lies in what the program would see
 */
export async function sandboxed (program: readonly string[], sandbox: Sandbox): Promise<string[]> {
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

/** The folders of a `PATH` that are there, and that commands in a sandbox do not see. */
export async function unseenFolders (path: string, { workspace, readable }: Pick<Sandbox, 'workspace' | 'readable'>): Promise<string[]> {
  const seen = [workspace, ...readable, ...SYSTEM]
  const folders = [...new Set(path.split(':'))].filter(folder => folder.startsWith('/') && !seen.some(place => isIn(place, folder)))
  const real = await Promise.all(folders.map(folder => realpath(folder).catch(() => undefined)))
  return folders.filter((_, index) => real[index] !== undefined)
}

function isIn (folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** The arguments that show the system to a program, and the paths that they show. */
async function systemMounts (): Promise<{ readonly words: readonly string[], readonly paths: readonly string[] }> {
  const settings = await readdir('/etc').catch(() => [])
  const paths = [...SYSTEM, ...settings.filter(name => SETTINGS.test(name)).map(name => `/etc/${name}`)]
  const mounts = await Promise.all(paths.map(async path => {
    const stats = await lstat(path).catch(() => undefined)
    if (stats === undefined) return []
    // A file is bound as that to which its link leads; `/bin` and the like stay links into `/usr`.
    if (stats.isSymbolicLink() && !path.startsWith('/etc/')) return ['--symlink', await readlink(path), path]
    return ['--ro-bind-try', path, path]
  }))
  return { words: mounts.flat(), paths: paths.filter((_, index) => mounts[index]?.[0] === '--ro-bind-try') }
}

function wordsOf (program: readonly string[], { workspace, hasNetwork, readable, home, shown }: Omit<Sandbox, 'secrets'>, system: readonly string[]): string[] {
  return [
    'bwrap', '--unshare-all', ...(hasNetwork ? ['--share-net'] : []), '--die-with-parent', '--cap-drop', 'ALL',
    // What is mounted later covers this, where a home lies in it.
    ...(home === undefined || !home.startsWith('/') || home === '/' ? [] : ['--tmpfs', home]),
    ...system, '--dev', '/dev', '--proc', '/proc',
    // `/run` and `/tmp` contain sockets of daemons. A program can use a socket even where files are read-only, and Docker's socket gives it the
    // rights of root. `/run/systemd/resolve` stays visible, because host names are looked up with it.
    '--tmpfs', '/run', '--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve', '--tmpfs', '/tmp',
    ...readable.flatMap(path => ['--ro-bind', path, path]),
    ...(shown === undefined ? [] : ['--ro-bind', shown.from, shown.as]),
    // The workspace is mounted last: perhaps it lies in a folder of an earlier mount.
    '--bind', workspace, workspace, '--remount-ro', '/',
    '--', '/bin/sh', '-c', `ulimit -u ${MAX_PROCESSES} 2>/dev/null || ulimit -p ${MAX_PROCESSES} 2>/dev/null; exec "$@"`, 'sh', ...program
  ]
}

/** Tests whether bubblewrap, which makes sandboxes, works on this machine. @returns `undefined` if so, else the reason why not */
export async function whyNoSandbox (): Promise<string | undefined> {
  const { words: system } = await systemMounts()
  const [program, ...words] = wordsOf(['true'], { workspace: '/tmp', hasNetwork: false, readable: [], home: undefined }, system)
  return await new Promise(resolve => {
    execFile(program as string, words, { timeout: 5000 }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : stderr.trim().split('\n', 1)[0] || error.message)
    })
  })
}
