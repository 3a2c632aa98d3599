import { starPattern, withoutEnd } from '../base/text.ts'

type NormalisedPath = { readonly path: string } | { readonly code: 'ERR_INVALID_PATH' | 'ERR_PATH_TOO_LONG', readonly message: string }

/** The names of a file and of its folders decide whether it may be written. Capital and small letters are equal. */
export interface Whitelist {
  readonly allowed_extensions: readonly string[]
  readonly allowed_no_extension: readonly string[]
  /** `*` stands for any characters. A path is forbidden by its file's name or one of its folders'. */
  readonly forbidden_paths: readonly string[]
  readonly forbidden_prefixes: readonly string[]
}

/** As existing clients of plans expect it (docs/plans.md, What may be named). */
export const DEFAULT_WHITELIST: Whitelist = {
  allowed_extensions: ['.py', '.ts', '.tsx', '.js', '.jsx', '.json', '.md', '.yaml', '.yml', '.toml', '.css', '.html', '.sql', '.sh', '.env.example'],
  allowed_no_extension: ['README', 'Makefile', '.gitignore', '.editorconfig', 'Dockerfile', 'LICENSE'],
  forbidden_paths: ['.env', '*.key', '*.pem', 'node_modules', '.git', '__pycache__'],
  forbidden_prefixes: ['..', '/']
}

/** Whole file names, or endings such as `*.go`. */
export function widened (whitelist: Whitelist, names: readonly string[]): Whitelist {
  const isEnding = (name: string): boolean => name.startsWith('*')
  return {
    ...whitelist,
    allowed_extensions: [...whitelist.allowed_extensions, ...names.filter(isEnding).map(name => name.slice(1))],
    allowed_no_extension: [...whitelist.allowed_no_extension, ...names.filter(name => !isEnding(name))]
  }
}

export function describeWhitelist ({ allowed_extensions: extensions, allowed_no_extension: names, forbidden_paths: patterns }: Whitelist): string {
  return `${[...extensions.map(extension => `*${extension}`), ...names].join(', ')}; never ${patterns.join(', ')}`
}

/** In code points. */
export const MAX_PATH = 240

/** Never written, deleted or read, at any place in a path: secrets, and folders of git and of this service. */
const PROTECTED = ['.env', '.env.*', '*.pem', '*.key', '*.p12', 'id_rsa*', 'secrets', '.git', '.papa-yu', '.ai-prompt-shell'].map(starPattern)

/** Exceptions to `PROTECTED`: they only list the names of variables. */
const SHOWN = new Set(['.env.example', '.env.sample', '.env.template'])

/** Only the text is checked: links are checked by the code that opens the file. */
export function normalisePath (text: string): NormalisedPath {
  // A code point has at most two UTF-16 units, so a longer text need not be counted.
  if (text.length > 2 * MAX_PATH || Array.from(text).length > MAX_PATH) {
    return { code: 'ERR_PATH_TOO_LONG', message: `a path has at most ${MAX_PATH} characters; this one has ${text.length}` }
  }
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return invalid(text, 'it has a control character, or half of a character')
  const slashed = text.replaceAll('\\', '/')
  const path = slashed.startsWith('./') ? slashed.slice(2) : slashed
  if (slashed.startsWith('/')) return invalid(text, 'it is absolute')
  if (/^[a-z]:/i.test(path)) return invalid(text, 'it begins with a drive')
  if (path.startsWith('~')) return invalid(text, 'it begins with "~"')
  // Models write a slash at the end of a folder's path.
  const segments = (path.endsWith('/') ? path.slice(0, -1) : path).split('/')
  // Windows takes `.. ` (with a blank) for `..`.
  const wrong = segments.find(segment => ['', '.', '..'].includes(segment.trim()))
  if (wrong !== undefined) return invalid(text, wrong.trim() === '' ? 'a part of it is empty' : `it has the part "${wrong}"`)
  return { path: segments.join('/') }
}

/** Nobody may read, write or delete such a file. The path is normalised. */
export function isProtected (path: string): boolean {
  return path.split('/').map(fold).some(name => !SHOWN.has(name) && PROTECTED.some(matches => matches(name)))
}

/** The path is normalised. */
export function isWhitelisted (path: string, whitelist: Whitelist): boolean {
  const name = fold(path.slice(path.lastIndexOf('/') + 1))
  const { allowed_extensions: extensions, allowed_no_extension: names } = whitelist
  return !isForbidden(path, whitelist) && (extensions.some(extension => name.endsWith(fold(extension))) || names.some(each => name === fold(each)))
}

export function isForbidden (path: string, { forbidden_paths: patterns, forbidden_prefixes: prefixes }: Whitelist): boolean {
  const names = path.split('/').map(fold)
  return prefixes.some(prefix => path.startsWith(prefix)) || patterns.map(pattern => starPattern(fold(pattern))).some(matches => names.some(matches))
}

function invalid (text: string, reason: string): NormalisedPath {
  return { code: 'ERR_INVALID_PATH', message: `a path is relative to the workspace, as "src/app.ts" is; ${JSON.stringify(text)} is not: ${reason}` }
}

/** As HFS+ (invisible characters) and Windows: https://git-blame.blogspot.com/2014/12/git-1856-195-205-214-and-221-and.html */
function fold (name: string): string {
  // Most names are plain ASCII, which is faster to fold, and a search folds 50,000 names.
  const folded = /^[\x20-\x7e]*$/.test(name) ? name.toLowerCase() : foldUnicode(name)
  const [plain = ''] = folded.split(':')
  return withoutEnd(plain, '. ') || folded
}

function foldUnicode (name: string): string {
  const visible = name.normalize('NFC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  // `ſ` is a small letter already: only as a capital letter does it become an `S`.
  return visible.toUpperCase().toLowerCase().normalize('NFC')
}
