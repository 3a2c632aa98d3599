import { extname, isAbsolute, relative, sep } from 'node:path'
import { type StoreKeys } from '../keys.ts'

/** The extensions of value files. Where two files stand for one key, the earlier extension wins. */
export const EXTENSIONS = ['.json', '.yaml', '.yml'] as const

/** Whether a folder or file takes part: hidden ones (`.git`, `.#lock`, `..data`) and installed packages do not. */
export function isVisible (name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

/** Whether a file's name says that it holds a value: editors' temporary files (`a.json~`, `4913`, `a.json.swp`) end otherwise. */
export function isValueFile (name: string): boolean {
  return isVisible(name) && EXTENSIONS.some(extension => extension === extname(name))
}

/**
 * The key of a value file: `environs/vscode/frameworks.json` is `shenma:environs:vscode:frameworks`. A `.` inside a name stays,
 * so that the registry can reject the key by name.
 * @param path relative to the store's folder
 * @returns `undefined` for a file that is none, and for a name with `:`, which would be the key of another file
 */
export function fileToKey (path: string, keys: StoreKeys): string | undefined {
  const segments = path.split(sep)
  const last = segments.pop() ?? ''
  if (!isValueFile(last) || segments.length === 0 || !keys.kinds.some(kind => kind === segments[0])) return undefined
  segments.push(last.slice(0, -extname(last).length))
  return segments.every(isSegment) ? keys.prefix + segments.join(':') : undefined
}

/** The files that can hold a key's value, relative to the store's folder, the one that wins first; none for a key that no file can have. */
export function keyToFiles (key: string, keys: StoreKeys): readonly string[] {
  if (!key.startsWith(keys.prefix)) return []
  const segments = key.slice(keys.prefix.length).split(':')
  if (segments.length < 2 || !keys.kinds.some(kind => kind === segments[0]) || !segments.every(isSegment)) return []
  return EXTENSIONS.map(extension => segments.join(sep) + extension)
}

/** Whether `path` is `folder` or below it; both absolute and without links. */
export function isInside (folder: string, path: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

function isSegment (segment: string): boolean {
  return segment !== '' && isVisible(segment) && !/[:/\\\0]/.test(segment)
}
