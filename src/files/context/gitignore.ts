import { join } from 'node:path'
import { matchPath, type PathMatch } from './glob.ts'
import { readPlainSync } from './read-plain-sync.ts'

/** The most bytes that all `.gitignore` files on the way to a file have. A file beyond them is left out: then some files are found that git would ignore. */
const MAX_BYTES = 64 * 1024

/** A line of a `.gitignore`. */
interface Rule {
  readonly matches: PathMatch
  /** Whether the line begins with `!`, and takes back what an earlier line ignores. */
  readonly isTakenBack: boolean
  readonly isOfFolders: boolean
}

/** The rules of the `.gitignore` in a folder; none where there is no such file. */
export interface Gitignore {
  /** The path of the folder, relative to the workspace. */
  readonly path: string
  readonly bytes: number
  readonly rules: readonly Rule[]
}

/**
 * Reads the `.gitignore` of a folder.
 * @param at path by which the folder can be opened now
 * @param path the folder's path, relative to the workspace
 * @param above those of the folders around it
 */
export function gitignoreIn (at: string, path: string, above: readonly Gitignore[]): Gitignore {
  const room = above.reduce((rest, { bytes }) => rest - bytes, MAX_BYTES)
  const content = readPlainSync(join(at, '.gitignore'), room)
  const lines = content?.toString().split('\n') ?? []
  return { path, bytes: content?.length ?? 0, rules: lines.flatMap(ruleOf) }
}

/** Whether git would ignore a file or folder in a folder that it does not ignore. The last matching line of the nearest `.gitignore` decides. */
export function isIgnored (gitignores: readonly Gitignore[], path: string, isFolder: boolean): boolean {
  for (const { path: folder, rules } of gitignores.toReversed()) {
    if (rules.length === 0) continue
    const names = (folder === '' ? path : path.slice(folder.length + 1)).toLowerCase().split('/')
    const rule = rules.findLast(({ matches, isOfFolders }) => (isFolder || !isOfFolders) && matches(names))
    if (rule !== undefined) return !rule.isTakenBack
  }
  return false
}

/** The rule of a line; none for an empty line or a comment. Names match in any case of letters, as they do on the file systems of Windows and macOS. */
function ruleOf (line: string): Rule[] {
  const text = withoutBlanks(line)
  if (text === '' || text.startsWith('#')) return []
  const isTakenBack = text.startsWith('!')
  const pattern = (isTakenBack ? text.slice(1) : text).toLowerCase()
  const isOfFolders = pattern.endsWith('/')
  const plain = isOfFolders ? pattern.slice(0, -1) : pattern
  // A pattern with a slash is one of paths, which begin at the folder of the `.gitignore`.
  return [{ matches: matchPath(plain.startsWith('/') ? plain.slice(1) : plain, plain.includes('/')), isTakenBack, isOfFolders }]
}

/** Removes the blanks at the end of a line, except one behind a backslash. */
function withoutBlanks (line: string): string {
  let end = line.endsWith('\r') ? line.length - 1 : line.length
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}
