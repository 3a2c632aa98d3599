import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import type { KeyKind, StoreKeys } from './store.ts'

/** The extensions of files that hold a value. Where two files stand for one key, the earlier extension in this list wins. */
export const EXTENSIONS = ['.json', '.yaml', '.yml'] as const

/** The extension of Dotprompt files, for kinds that have them. Any other file of the same key wins over it. */
export const DOTPROMPT = '.prompt'

/** Whether the store looks at folders and files of this name. It ignores hidden ones (`.git`, `.#lock`, `..data`) and `node_modules`. */
export function isVisible (name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

/** Whether a file's name says that it holds a value. Temporary files of editors (`a.json~`, `4913`, `a.json.swp`) have other endings. */
export function isValueFile (name: string): boolean {
  return isVisible(name) && EXTENSIONS.some(extension => extension === extname(name))
}

/** Whether the store reads a file: its extension says that it holds a value, or it is a file such as `SKILL.md`. @param path relative to the store's folder */
export function isRead (path: string, keys: StoreKeys): boolean {
  const segments = path.split(sep)
  return isValueFile(basename(path)) || isOwnFile(segments, keys) || isDotprompt(segments, keys)
}

/** Whether a file is a Dotprompt file. */
export function isDotpromptFile (path: string): boolean {
  return extname(path) === DOTPROMPT
}

/** Whether a file is YAML that stands for a JSON value. */
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

/**
 * The files that can hold a key's value, as paths relative to the store's folder. If several exist, the first of them is read. The list is empty for a
 * key that no file can have.
 */
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

/** Whether a file has the special name that its kind defines, such as `SKILL.md` for skills. Its key ends in the name of the folder around it. */
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

/** Whether `path` is `folder` itself or lies below it. Both must be absolute and without symbolic links. */
export function isInside (folder: string, path: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

function isSegment (segment: string): boolean {
  return segment !== '' && isVisible(segment) && !/[:/\\\0]/.test(segment)
}

/** Whether an error of the file system says that no file or folder of that name exists. */
export function isAbsent (error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error))
}

/** Whether an error of the file system says that a file or folder of that name exists already. */
export function isPresent (error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

/** Whether an error of the file system says that a symbolic link leads to itself. */
export function isEndlessLink (error: unknown): boolean {
  return codeOf(error) === 'ELOOP'
}

/** Why one file cannot be read, in words, for an error that concerns that file only; `undefined` for an error of the disk itself. */
export function fileProblem (error: unknown): string | undefined {
  if (isEndlessLink(error)) return 'is a link that leads to itself'
  return ['EACCES', 'EPERM'].includes(codeOf(error)) ? 'may not be read by this process' : undefined
}

/** Why a file cannot be written, for an error that concerns that file only; `undefined` for an error of the disk itself. */
export function writeProblem (error: unknown): 'read-only' | 'impossible' | undefined {
  if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) return 'read-only'
  return ['ENAMETOOLONG', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(codeOf(error)) ? 'impossible' : undefined
}

function codeOf (error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
