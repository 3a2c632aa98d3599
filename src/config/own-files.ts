import { readlinkSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { type Config, ConfigError } from './config.ts'
import { type OperatorFile } from './operator.ts'

/** A file or folder of the service: who writes it decides for the service, or reads what is nobody else's. */
export interface OwnFile {
  /** What names it. */
  readonly variable: string
  readonly path: string
  /** Whether all that is below it is the service's, too. */
  readonly isFolder: boolean
  /** Whether everybody may read it. */
  readonly isPublic: boolean
}

/** What the service's folders and keys are, beside what its configuration names. */
export interface OwnPlaces {
  /** The folder of sessions, where there is one. */
  readonly sessions: string | undefined
  readonly operator: OperatorFile
  /** The socket of an agent with keys. */
  readonly agent: string | undefined
}

/** Links on one way; Linux follows no more either. */
const MAX_LINKS = 40

/** All files and folders that are the service's own: of variables every one that names a file. */
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
 * Refuses workspaces that hold a file of the service, or a link on the way to one: a command could put another in its place,
 * and no sandbox hides what lies in a folder that can be moved. A workspace in a folder of the service is refused likewise.
 * @throws ConfigError that names the variable, the file and the workspace
 */
export function refuseOwnFilesIn ({ workspaces }: OperatorFile, files: readonly OwnFile[]): void {
  for (const { variable, path, isFolder } of files) {
    const places = placesOf(path)
    for (const { name, path: root } of workspaces.values()) {
      const inside = places.findLast(place => isIn(root, place))
      const shown = inside === undefined || inside === path ? `"${path}"` : `"${path}", which leads through "${inside}"`
      if (inside !== undefined) {
        throw new ConfigError(`${variable}: expected a ${isFolder ? 'folder' : 'file'} outside of workspace "${name}" (${root}), got ${shown}`)
      }
      if (isFolder && isIn(places.at(-1) as string, root)) {
        throw new ConfigError(`${variable}: expected a folder without workspace "${name}" (${root}) in it, got "${path}"`)
      }
    }
  }
}

/** Every true place on the way of a path, and at last its own: each may be exchanged by who can write there. What is not there yet counts as it is written. */
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
  // Authorities are what programs in a sandbox trust, too. A path is no plainer than it was written: `..` behind a link leads elsewhere.
  return { variable, path: isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`, isFolder: false, isPublic: variable === 'TOOL_TLS_CA_FILE' }
}

function folderOf (variable: string, path: string): OwnFile {
  return { variable, path: resolve(path), isFolder: true, isPublic: false }
}

function isIn (root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}
