import { errorCode } from '../base/durable-files.ts'
import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import type { KeyKind, StoreKeys } from './store.ts'

/** Where two files stand for one key, the earlier extension wins. */
export const EXTENSIONS = ['.json', '.yaml', '.yml'] as const

/** Any other file of the same key wins over it. */
export const DOTPROMPT = '.prompt'

/** Hidden names (`.git`, `.#lock`, `..data`) and `node_modules` are ignored. */
export function isVisible (name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

/** Temporary files of editors (`a.json~`, `4913`, `a.json.swp`) have other endings. */
export function isValueFile (name: string): boolean {
  return isVisible(name) && EXTENSIONS.some(extension => extension === extname(name))
}

export function isRead (path: string, keys: StoreKeys): boolean {
  const segments = path.split(sep)
  return isValueFile(basename(path)) || isOwnFile(segments, keys) || isDotprompt(segments, keys)
}

export function isDotpromptFile (path: string): boolean {
  return extname(path) === DOTPROMPT
}

export function isYamlFile (path: string): boolean {
  return ['.yaml', '.yml'].includes(extname(path))
}

/**
 * The key of the value in a file: `environs/vscode/frameworks.json` is `shenma:environs:vscode:frameworks`. A `.` inside a name stays in the key, so
 * that the registry can refuse the key and say why. A file such as `SKILL.md` gets its folder's name: `skills/review/SKILL.md` is `shenma:skills:review`.
 * `_header.prompt`, which Dotprompt knows as the partial `header`, is `shenma:templates:header`.
 * @param path relative to the store's folder
 * @returns `undefined` for a file that holds no value, and for a name with `:`, which would be the key of another file
 */
export function fileToKey (path: string, keys: StoreKeys): string | undefined {
  const segments = path.split(sep)
  const isOwn = isOwnFile(segments, keys)
  const isPrompt = isDotprompt(segments, keys)
  const last = segments.pop() ?? ''
  if (kindOf(segments, keys) === undefined || !(isOwn || isPrompt || isValueFile(last))) return undefined
  const name = last.slice(0, -extname(last).length)
  if (!isOwn) segments.push(isPrompt ? name.replace(/^_(?=.)/, '') : name)
  return segments.every(isSegment) ? keys.prefix + segments.join(':') : undefined
}

/** Relative to the store's folder; the first that exists is read. Empty for a key that no file can have. */
export function keyToFiles (key: string, keys: StoreKeys): readonly string[] {
  if (!key.startsWith(keys.prefix)) return []
  const segments = key.slice(keys.prefix.length).split(':')
  const kind = kindOf(segments, keys)
  if (segments.length < 2 || kind === undefined || !segments.every(isSegment)) return []
  const path = segments.join(sep)
  return [
    ...EXTENSIONS.map(extension => path + extension),
    ...kind.file === undefined ? [] : [join(path, kind.file)],
    ...kind.hasDotprompt === true ? [path + DOTPROMPT, join(dirname(path), `_${basename(path)}${DOTPROMPT}`)] : []
  ]
}

function isOwnFile (segments: readonly string[], keys: StoreKeys): boolean {
  return segments.length > 2 && kindOf(segments, keys)?.file === segments.at(-1)
}

function isDotprompt (segments: readonly string[], keys: StoreKeys): boolean {
  const name = segments.at(-1) ?? ''
  return segments.length > 1 && isVisible(name) && isDotpromptFile(name) && kindOf(segments, keys)?.hasDotprompt === true
}

function kindOf ([first]: readonly string[], { kinds }: StoreKeys): KeyKind | undefined {
  return kinds.find(({ key }) => key === first)
}

/** Both must be absolute and without symbolic links. */
export function isInside (folder: string, path: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

function isSegment (segment: string): boolean {
  return segment !== '' && isVisible(segment) && !/[:/\\\0]/.test(segment)
}

export function isAbsent (error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(errorCode(error))
}

export function isPresent (error: unknown): boolean {
  return errorCode(error) === 'EEXIST'
}

export function isEndlessLink (error: unknown): boolean {
  return errorCode(error) === 'ELOOP'
}

/** In words, for an error of that file only; `undefined` for an error of the disk itself. */
export function fileProblem (error: unknown): string | undefined {
  if (isEndlessLink(error)) return 'is a link that leads to itself'
  return ['EACCES', 'EPERM'].includes(errorCode(error)) ? 'may not be read by this process' : undefined
}

export function writeProblem (error: unknown): 'read-only' | 'impossible' | undefined {
  if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))) return 'read-only'
  return ['ENAMETOOLONG', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(errorCode(error)) ? 'impossible' : undefined
}
