/** A path of a workspace in its one form: relative, with `/`; or what is wrong with it. */
export type NormalisedPath = { readonly path: string } | { readonly code: 'ERR_INVALID_PATH' | 'ERR_PATH_TOO_LONG', readonly message: string }

/** What may be written, by name. Names are compared without case. */
export interface Whitelist {
  /** Ends of names of files, `.env.example` as a whole. */
  readonly allowed_extensions: readonly string[]
  /** Whole names of files. */
  readonly allowed_no_extension: readonly string[]
  /** Patterns for any name on a path; `*` stands for any characters. */
  readonly forbidden_paths: readonly string[]
  readonly forbidden_prefixes: readonly string[]
}

/** The two lists of the protocol of plans, joined (docs/plans.md, What may be named). */
export const DEFAULT_WHITELIST: Whitelist = {
  allowed_extensions: ['.py', '.ts', '.tsx', '.js', '.jsx', '.json', '.md', '.yaml', '.yml', '.toml', '.css', '.html', '.sql', '.sh', '.env.example'],
  allowed_no_extension: ['README', 'Makefile', '.gitignore', '.editorconfig', 'Dockerfile', 'LICENSE'],
  forbidden_paths: ['.env', '*.key', '*.pem', 'node_modules', '.git', '__pycache__'],
  forbidden_prefixes: ['..', '/']
}

/** A whitelist with more names. @param names whole ones, and `*.go` for an ending */
export function widened (whitelist: Whitelist, names: readonly string[]): Whitelist {
  const isEnding = (name: string): boolean => name.startsWith('*')
  return {
    ...whitelist,
    allowed_extensions: [...whitelist.allowed_extensions, ...names.filter(isEnding).map(name => name.slice(1))],
    allowed_no_extension: [...whitelist.allowed_no_extension, ...names.filter(name => !isEnding(name))]
  }
}

/** The names that may be changed, in words. */
export function describeWhitelist ({ allowed_extensions: extensions, allowed_no_extension: names, forbidden_paths: patterns }: Whitelist): string {
  return `${[...extensions.map(extension => `*${extension}`), ...names].join(', ')}; never ${patterns.join(', ')}`
}

/** How long a path may be, in code points. */
export const MAX_PATH = 240

/** Names that are neither written, deleted nor read, wherever they stand on a path. */
const PROTECTED = ['.env', '.env.*', '*.pem', '*.key', '*.p12', 'id_rsa*', 'secrets', '.git', '.papa-yu', '.ai-prompt-shell'].map(patternOf)

/** Protected names that may be read: such files show only the names of variables. */
const SHOWN = new Set(['.env.example', '.env.sample', '.env.template'])

/**
 * Gives a path its one form, or says why nobody may name it. Only the text of the path is looked at: whoever opens the file
 * looks at links.
 */
export function normalisePath (text: string): NormalisedPath {
  // A code point has two units at most: what is longer need not be counted.
  if (text.length > 2 * MAX_PATH || Array.from(text).length > MAX_PATH) {
    return { code: 'ERR_PATH_TOO_LONG', message: `a path has at most ${MAX_PATH} characters; this one has ${text.length}` }
  }
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) return invalid(text, 'it has a control character, or half of a character')
  const slashed = text.replaceAll('\\', '/')
  const path = slashed.startsWith('./') ? slashed.slice(2) : slashed
  if (slashed.startsWith('/')) return invalid(text, 'it is absolute')
  if (/^[a-z]:/i.test(path)) return invalid(text, 'it begins with a drive')
  if (path.startsWith('~')) return invalid(text, 'it begins with "~"')
  // Models write folders with a slash behind them.
  const segments = (path.endsWith('/') ? path.slice(0, -1) : path).split('/')
  // Windows takes `.. ` for `..`.
  const wrong = segments.find(segment => ['', '.', '..'].includes(segment.trim()))
  if (wrong !== undefined) return invalid(text, wrong.trim() === '' ? 'a part of it is empty' : `it has the part "${wrong}"`)
  return { path: segments.join('/') }
}

/**
 * Whether one part of a path is a name that nobody may read, write or delete.
 * @param path in its one form
 */
export function isProtected (path: string): boolean {
  return path.split('/').map(fold).some(name => !SHOWN.has(name) && PROTECTED.some(pattern => pattern.test(name)))
}

/**
 * Whether a file may be written or deleted, by its name and its folders.
 * @param path in its one form
 */
export function isWhitelisted (path: string, whitelist: Whitelist): boolean {
  const name = fold(path.slice(path.lastIndexOf('/') + 1))
  const { allowed_extensions: extensions, allowed_no_extension: names } = whitelist
  return !isForbidden(path, whitelist) && (extensions.some(extension => name.endsWith(fold(extension))) || names.some(each => name === fold(each)))
}

/** Whether a path, of a folder too, is one of those that the whitelist names as forbidden. */
export function isForbidden (path: string, { forbidden_paths: patterns, forbidden_prefixes: prefixes }: Whitelist): boolean {
  const names = path.split('/').map(fold)
  return prefixes.some(prefix => path.startsWith(prefix)) || patterns.map(patternOf).some(pattern => names.some(name => pattern.test(name)))
}

function invalid (text: string, reason: string): NormalisedPath {
  return { code: 'ERR_INVALID_PATH', message: `a path is relative to the workspace, as "src/app.ts" is; ${JSON.stringify(text)} is not: ${reason}` }
}

/**
 * A name as the most lenient file system compares it: without case, without its Unicode form, without characters that nobody
 * sees (HFS+), and without what Windows drops, which are streams, and dots and blanks at the end.
 * https://git-blame.blogspot.com/2014/12/git-1856-195-205-214-and-221-and.html
 */
function fold (name: string): string {
  // Most names are plain, and a search folds each of 50,000.
  const folded = /^[\x20-\x7e]*$/.test(name) ? name.toLowerCase() : foldUnicode(name)
  const [plain = ''] = folded.split(':')
  return plain.replace(/[. ]+$/, '') || folded
}

function foldUnicode (name: string): string {
  const visible = name.normalize('NFC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  // By upper case first, for letters that have no lower case of their own: `ſ`.
  return visible.toUpperCase().toLowerCase().normalize('NFC')
}

function patternOf (glob: string): RegExp {
  return new RegExp(`^${fold(glob).split('*').map(part => part.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('.*')}$`, 's')
}
