import { readFileSync, readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { asksForTokens, type Config, ConfigError, isLoopback } from './config.ts'
import { NOTHING_OFFERED, type OperatorFile } from './operator.ts'

/** Whoever can write it could change what the service does, and whoever can read it could learn secrets. */
interface OwnFile {
  /** Or the place in the operator's file, for error messages. */
  readonly variable: string
  readonly path: string
  readonly isFolder: boolean
  /** Everybody may read the file, also programs in a sandbox. */
  readonly isPublic: boolean
}

/** In one path; Linux has the same bound. */
const MAX_LINKS = 40

export function ownFilesOf (config: Config, { sessions, operator: { targets, notices = [] }, agent }: {
  readonly sessions: string | undefined
  readonly operator: OperatorFile
  /** The agent has private keys; `undefined` or `''` when there is none. */
  readonly agent: string | undefined
}): OwnFile[] {
  const files = Object.entries(config).flatMap(([variable, value]) =>
    variable.endsWith('_FILE') && typeof value === 'string' && value !== '' ? [fileOf(variable, value)] : []
  )
  const keys = [...targets.values()].flatMap(target =>
    target.type === 'ssh' && target.keyFile !== undefined ? [fileOf(`OPERATOR_FILE: targets.${target.name}.keyFile`, target.keyFile)] : []
  )
  return [
    ...files,
    ...keys,
    ...notices.flatMap(({ name, files: read }) => read.map(path => fileOf(`OPERATOR_FILE: notices.${name}`, path))),
    ...(agent === undefined || agent === '' ? [] : [fileOf('SSH_AUTH_SOCK', agent)]),
    folderOf('STATE_DIR', config.STATE_DIR),
    ...(sessions === undefined ? [] : [folderOf('SESSION_STORE', sessions)])
  ]
}

/** A command could replace such a file or a link to it, which no sandbox prevents if the folder can be moved. @throws ConfigError */
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

/** The last is where the path ends; whoever can write at one of them can exchange the file. A missing part counts as written. */
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
  // Programs in a sandbox trust authorities, too. Not simplified: `..` behind a symbolic link leads elsewhere than it seems to.
  return { variable, path: isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`, isFolder: false, isPublic: variable === 'TOOL_TLS_CA_FILE' }
}

function folderOf (variable: string, path: string): OwnFile {
  return { variable, path: resolve(path), isFolder: true, isPublic: false }
}

function isIn (root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

/** In characters; shorter ones could be guessed. */
const MIN_LENGTH = 32

/** The first seals; a second is still accepted, to change it without losing sessions. @throws ConfigError without any of a secret */
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

/** Nothing without an operator's file. @throws ConfigError */
export async function readOffered (config: Config): Promise<OperatorFile> {
  if (config.OPERATOR_FILE === '') return NOTHING_OFFERED
  const { readOperator } = await import('./operator.ts')
  let offered: OperatorFile
  try {
    offered = readOperator(config.OPERATOR_FILE)
  } catch (error) {
    throw new ConfigError(`OPERATOR_FILE: ${(error as Error).message}`)
  }
  refuseOpenTerminals(config, offered)
  return offered
}

/** On a public address without tokens, whoever reaches the service could type anything. @throws ConfigError */
function refuseOpenTerminals (config: Config, { targets }: OperatorFile): void {
  const open = [...targets.values()].find(({ mayOpenTerminal }) => mayOpenTerminal === true)
  if (open === undefined || asksForTokens(config) || isLoopback(config.HOST)) return
  throw new ConfigError(`AUTH=off: expected tokens or a loopback address in HOST where target "${open.name}" has terminal: true`)
}
