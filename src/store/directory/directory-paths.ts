import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import { type KeyKind, type StoreKeys } from '../keys.ts'

/** The extensions of value files. Where two files stand for one key, the earlier extension wins. */
export const EXTENSIONS = ['.json', '.yaml', '.yml'] as const

/** The extension of Dotprompt files, for kinds that have them; any other file of the key wins over it. */
export const DOTPROMPT = '.prompt'

/** Whether a folder or file takes part. Hidden ones (`.git`, `.#lock`, `..data`) and installed packages do not. */
export function isVisible (name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules'
}

/** Whether a file's name says that it holds a value. Temporary files of editors (`a.json~`, `4913`, `a.json.swp`) end otherwise. */
export function isValueFile (name: string): boolean {
  return isVisible(name) && EXTENSIONS.some(extension => extension === extname(name))
}

/** Whether a file is read: a value file, or the one that a kind has in folders. @param path relative to the store's folder */
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
 * The key of a value file: `environs/vscode/frameworks.json` is `shenma:environs:vscode:frameworks`. A `.` inside a name
 * stays, so that the registry can reject the key by name. `skills/review/SKILL.md` is `shenma:skills:review`, if that is the
 * file of the kind; `_header.prompt`, which Dotprompt knows as the partial `header`, is `shenma:templates:header`.
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

/** The files that can hold a key's value, relative to the store's folder, the one that wins first; none for a key that no file can have. */
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

/** Whether a file is the kind's own file, such as `SKILL.md`. It lies in a folder, which gives the key its name. */
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

/** Whether `path` is `folder` or below it; both absolute and without links. */
export function isInside (folder: string, path: string): boolean {
  const way = relative(folder, path)
  return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
}

function isSegment (segment: string): boolean {
  return segment !== '' && isVisible(segment) && !/[:/\\\0]/.test(segment)
}
