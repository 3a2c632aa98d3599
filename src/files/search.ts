import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { createSlices } from '../runtime/event-loop.ts'
import { isProtected } from './path-rules.ts'
import { DESCRIPTORS, FileRefusal, HAS_DESCRIPTORS, type WorkspaceFiles } from './workspace-files.ts'
import { GLOB_EXPECTED, globOf, matchPath, type PathMatch } from './glob.ts'

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Reads a plain file, which is no link, hard link or pipe, synchronously.
 * @param most largest size, in bytes
 * @param scratch a buffer larger than `most` to read into; the result is valid until the buffer is used again
 * @returns undefined when there is no such file, or it is larger
 */
function readPlainSync (path: string, most: number, scratch?: Buffer): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, FLAGS)
  } catch {
    return undefined
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile() || stats.nlink > 1 || stats.size > most) return undefined
    const bytes = scratch ?? Buffer.allocUnsafe(stats.size)
    return bytes.subarray(0, readSync(file, bytes, 0, stats.size, 0))
  } catch {
    return undefined
  } finally {
    closeSync(file)
  }
}

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
interface Gitignore {
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

/** The names of folders that a walk never enters, and the most folders inside each other that it enters. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])
const MAX_DEPTH = 64

/** The largest number of names in a folder that are sorted. To sort more would block the process, so larger folders keep the disk's order. */
const MAX_SORTED = 2000

/** A file that a walk through a workspace has found. */
interface Found {
  /** The path of the file, relative to the workspace. */
  readonly path: string
  /** The path by which the file system reaches the file, for a synchronous call. It is valid until the walk goes on to the next file. */
  readonly at: string
}

/**
 * Walks through the files below a folder, in the order of their names, without those that are protected or that git ignores. No link is
 * followed, not even a link that somebody creates meanwhile. The walk is synchronous, so it needs a third of the time that an asynchronous walk
 * of 50,000 files needs; but the caller has to pause now and then.
 * @param root the folder's path, without links
 * @param isHidden whether a folder must not be seen
 * @returns each file; now and then `undefined`, so that the caller can pause
 */
export function * walk (root: string, isHidden: (path: string) => boolean): Generator<Found | undefined> {
  yield * walkFolder(root, '', [], isHidden)
}

function * walkFolder (folder: string, path: string, above: readonly Gitignore[], isHidden: (path: string) => boolean): Generator<Found | undefined> {
  if (above.length > MAX_DEPTH) return
  let descriptor: number
  try {
    descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch {
    return
  }
  try {
    const here = HAS_DESCRIPTORS ? `${DESCRIPTORS}/${descriptor}` : folder
    const rules = [...above, gitignoreIn(here, path, above)]
    const entries: Dirent[] = []
    for (const entry of entriesOf(here)) if (entry === undefined) yield undefined; else entries.push(entry)
    if (entries.length <= MAX_SORTED) entries.sort((a, b) => a.name < b.name ? -1 : 1)
    for (const entry of entries) {
      const { name } = entry
      const its = path === '' ? name : `${path}/${name}`
      // The kind of an entry is read from its folder, without following links. So a link counts neither as a file nor as a folder.
      const isFolder = entry.isDirectory()
      if (!(isFolder || entry.isFile()) || SKIPPED.has(name) || isProtected(name) || isIgnored(rules, its, isFolder)) {
        yield undefined
      } else if (!isFolder) {
        yield { path: its, at: `${here}/${name}` }
      } else if (!isHidden(its)) {
        yield * walkFolder(`${here}/${name}`, its, rules, isHidden)
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

function * entriesOf (folder: string): Generator<Dirent | undefined> {
  const opened = opendirSync(folder, { bufferSize: 256 })
  try {
    for (let entry = opened.readSync(), count = 1; entry !== null; entry = opened.readSync(), count++) {
      yield entry
      if (count % 256 === 0) yield undefined
    }
  } finally {
    opened.closeSync()
  }
}

/** The largest number of hits of one search. */
const MAX_HITS = 50

/** The largest file that is searched and the longest line that a hit shows, in bytes, and the longest query, in UTF-16 units. */
const MAX_SEARCHED_BYTES = 1024 * 1024
const MAX_LINE = 300
const MAX_QUERY = 500

const LINE_END = 0x0a

/** A hit of a search: a line that has the text searched for. */
export interface Hit {
  readonly path: string
  /** The number of the line, from 1. */
  readonly line: number
  readonly text: string
}

/**
 * Searches the files of a workspace for a literal text, until `signal` aborts.
 * @param glob pattern of the files to search; by default all are searched
 * @returns the hits; `isTruncated` when there are perhaps more
 * @throws FileRefusal for a query or a glob that is not allowed
 */
export async function search (
  files: WorkspaceFiles,
  query: string,
  glob: string | undefined,
  signal: AbortSignal
): Promise<{ readonly hits: Hit[]; readonly isTruncated: boolean }> {
  if (query === '' || query.length > MAX_QUERY || /[\r\n]/.test(query)) {
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `a query is one line of at most ${MAX_QUERY} characters`)
  }
  const isWanted = glob === undefined ? () => true : globOf(glob)
  if (isWanted === undefined) throw new FileRefusal('ERR_SCHEMA_VALIDATION', GLOB_EXPECTED)
  const { root, hidden } = await files.roots()
  const bytes = Buffer.from(query)
  const scratch = Buffer.allocUnsafe(MAX_SEARCHED_BYTES)
  const hits: Hit[] = []
  const slices = createSlices()
  for (const found of walk(root, path => hidden.includes(join(root, path)))) {
    const content = found !== undefined && isWanted(found.path) ? readPlainSync(found.at, MAX_SEARCHED_BYTES, scratch) : undefined
    if (content !== undefined) for (const { line, text } of linesWith(content, bytes)) hits.push({ path: found?.path ?? '', line, text })
    if (hits.length > MAX_HITS || signal.aborted) return { hits: hits.slice(0, MAX_HITS), isTruncated: true }
    if (slices.isDue()) await slices.pause()
  }
  return { hits, isTruncated: false }
}

/** Yields the lines of a file's content that have the query, each line once. */
function * linesWith (content: Buffer, query: Buffer): Generator<{ readonly line: number, readonly text: string }> {
  let at = content.indexOf(query)
  // A file with a NUL byte is taken for binary, and not searched.
  if (at < 0 || content.includes(0)) return
  for (let line = 1, start = 0, count = 0; at >= 0 && count <= MAX_HITS; at = content.indexOf(query, start), count++) {
    for (let end = content.indexOf(LINE_END, start); end >= 0 && end < at; end = content.indexOf(LINE_END, start)) {
      start = end + 1
      line++
    }
    const end = content.indexOf(LINE_END, at)
    // If the text is far from the beginning of a long line, the part of the line around the text is shown.
    const from = at - start > MAX_LINE / 2 ? at - MAX_LINE / 2 : start
    yield { line, text: content.subarray(from, end < 0 ? content.length : end).subarray(0, MAX_LINE).toString().trimEnd() }
    if (end < 0) return
    start = end + 1
    line++
  }
}
