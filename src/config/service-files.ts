import { readFileSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { asksForTokens, type Config, ConfigError, isLoopback } from './config.ts'
import { NOTHING_OFFERED, type OperatorFile } from './operator.ts'

/**
 * A file or folder that belongs to the service itself. Whoever can write it could change what the service does, and whoever can read it could learn
 * secrets.
 */
export interface OwnFile {
  /** The name of the environment variable (or the place in the operator's file) that names the path, for error messages. */
  readonly variable: string
  readonly path: string
  /** Whether everything below the path belongs to the service, too. */
  readonly isFolder: boolean
  /** Whether everybody is allowed to read the file, also programs in a sandbox. */
  readonly isPublic: boolean
}

/** The files and folders of the service that its configuration does not name directly. */
export interface OwnPlaces {
  /** The folder in which sessions are kept, if they are kept in one. */
  readonly sessions: string | undefined
  readonly operator: OperatorFile
  /** The socket of an SSH agent, which has private keys; `undefined` or `''` when there is none. */
  readonly agent: string | undefined
}

/** The greatest number of symbolic links that are followed in one path; Linux has the same bound. */
const MAX_LINKS = 40

/** Lists all files and folders that belong to the service itself, among them each file that a variable with a name ending in `_FILE` names. */
export function ownFilesOf (config: Config, { sessions, operator: { targets }, agent }: OwnPlaces): OwnFile[] {
  const files = Object.entries(config).flatMap(([variable, value]) =>
    variable.endsWith('_FILE') && typeof value === 'string' && value !== '' ? [fileOf(variable, value)] : []
  )
  const keys = [...targets.values()].flatMap(target =>
    target.type === 'ssh' && target.keyFile !== undefined ? [fileOf(`OPERATOR_FILE: targets.${target.name}.keyFile`, target.keyFile)] : []
  )
  return [
    ...files,
    ...keys,
    ...(agent === undefined || agent === '' ? [] : [fileOf('SSH_AUTH_SOCK', agent)]),
    folderOf('STATE_DIR', config.STATE_DIR),
    ...(sessions === undefined ? [] : [folderOf('SESSION_STORE', sessions)])
  ]
}

/**
 * Refuses a workspace if one of the service's own files, or a symbolic link on the way to such a file, lies in it. A command could replace the file
 * or the link, and no sandbox protects them if the folder around them can be moved. A workspace inside a folder of the service is refused, too, and
 * what a workspace lets commands read if it holds one of the files.
 * @throws ConfigError that names the variable, the file and the workspace
 */
export function refuseOwnFilesIn ({ workspaces }: OperatorFile, files: readonly OwnFile[]): void {
  for (const { variable, path, isFolder, isPublic } of files) {
    const places = placesOf(path)
    for (const { name, path: root, readable = [] } of workspaces.values()) {
      const kind = isFolder ? 'folder' : 'file'
      const around = readable.find(each => !isPublic && places.some(place => isIn(each, place) || isIn(placesOf(each).at(-1) as string, place)))
      if (around !== undefined) {
        throw new ConfigError(`${variable}: expected a ${kind} outside of what workspace "${name}" lets commands read (${around}), got "${path}"`)
      }
      const inside = places.findLast(place => isIn(root, place))
      const shown = inside === undefined || inside === path ? `"${path}"` : `"${path}", which leads through "${inside}"`
      if (inside !== undefined) {
        throw new ConfigError(`${variable}: expected a ${kind} outside of workspace "${name}" (${root}), got ${shown}`)
      }
      if (isFolder && isIn(places.at(-1) as string, root)) {
        throw new ConfigError(`${variable}: expected a folder without workspace "${name}" (${root}) in it, got "${path}"`)
      }
    }
  }
}

/**
 * Lists all paths that are visited when a path is resolved, with all symbolic links followed; the last one is where the path ends. Whoever can write
 * at one of them can exchange the file. A part that does not exist yet counts as it is written.
 */
export function placesOf (path: string): string[] {
  const places: string[] = []
  let { root: place } = parse(path)
  let rest = partsOf(path, place)
  for (let [part] = rest, links = 0; part !== undefined; [part] = rest) {
    const at = part === '..' ? dirname(place) : join(place, part)
    places.push(at)
    rest = rest.slice(1)
    const target = links < MAX_LINKS ? linkAt(at) : undefined
    if (target === undefined) {
      place = at
      continue
    }
    links++
    const { root } = parse(target)
    if (root !== '') place = root
    rest = [...partsOf(target, root), ...rest]
  }
  return [...places, place]
}

function partsOf (path: string, root: string): string[] {
  return path.slice(root.length).split(sep).filter(part => part !== '' && part !== '.')
}

function linkAt (path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function fileOf (variable: string, path: string): OwnFile {
  // A file of certificate authorities can be public, since programs in a sandbox trust them, too. The path is not simplified: `..` behind a symbolic
  // link leads elsewhere than it seems to.
  return { variable, path: isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`, isFolder: false, isPublic: variable === 'TOOL_TLS_CA_FILE' }
}

function folderOf (variable: string, path: string): OwnFile {
  return { variable, path: resolve(path), isFolder: true, isPublic: false }
}

function isIn (root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/** The shortest allowed secret, in characters. Shorter ones could be guessed. */
const MIN_LENGTH = 32

/**
 * Reads the secrets with which the logs of sessions are sealed (signed), so that nobody else can write to the logs. New seals are made with the
 * first secret. Seals made with a second secret are still accepted, so that the secret can be changed without losing sessions. The list is empty
 * when none is configured.
 * @throws ConfigError that shows no part of the secrets
 */
export function readSessionSecrets ({
  SESSION_SECRET: given,
  SESSION_SECRET_FILE: path
}: Pick<Config, 'SESSION_SECRET' | 'SESSION_SECRET_FILE'>): readonly string[] {
  if (given !== '' && path !== '') throw new ConfigError('SESSION_SECRET and SESSION_SECRET_FILE: expected one of them, got both')
  if (given === '' && path === '') return []
  const name = path === '' ? 'SESSION_SECRET' : 'SESSION_SECRET_FILE'
  const secrets = (path === '' ? given : readFile(path)).split(/[,\s]+/).filter(secret => secret !== '')
  if (secrets.length < 1 || secrets.length > 2) {
    throw new ConfigError(`${name}: expected one secret, or the new one and the old one, got ${secrets.length}`)
  }
  if (secrets.some(secret => secret.length < MIN_LENGTH)) {
    throw new ConfigError(`${name}: expected secrets of at least ${MIN_LENGTH} characters, as openssl rand -hex 32 makes them`)
  }
  return secrets
}

function readFile (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`SESSION_SECRET_FILE: ${(error as Error).message}`)
  }
}

/** Reads what the operator lets sessions reach; nothing without an operator's file. @throws ConfigError */
export async function readOffered (config: Config): Promise<OperatorFile> {
  if (config.OPERATOR_FILE === '') return NOTHING_OFFERED
  const { readOperator } = await import('./parse-operator.ts')
  let offered: OperatorFile
  try {
    offered = readOperator(config.OPERATOR_FILE)
  } catch (error) {
    throw new ConfigError(`OPERATOR_FILE: ${(error as Error).message}`)
  }
  refuseOpenTerminals(config, offered)
  return offered
}

/** Refuses terminals in a service without tokens on a public address: whoever reaches the service could type anything. @throws ConfigError */
function refuseOpenTerminals (config: Config, { targets }: OperatorFile): void {
  const open = [...targets.values()].find(({ mayOpenTerminal }) => mayOpenTerminal === true)
  if (open === undefined || asksForTokens(config) || isLoopback(config.HOST)) return
  throw new ConfigError(`AUTH=off: expected tokens or a loopback address in HOST where target "${open.name}" has terminal: true`)
}
