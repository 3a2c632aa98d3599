import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { createSlices } from '../runtime/event-loop.ts'
import { isProtected } from './path-rules.ts'
import { DESCRIPTORS, FileRefusal, HAS_DESCRIPTORS, type WorkspaceFiles } from './workspace-files.ts'
import { GLOB_EXPECTED, globOf, matchPath } from './glob.ts'

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** No link, hard link or pipe is read. The result is valid until `scratch`, larger than `most` bytes, is used again. */
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

/** In bytes, on the way to one file. Beyond them some files are found that git would ignore. */
const MAX_BYTES = 64 * 1024

/** A line of a `.gitignore`. */
interface IgnoreRule {
  readonly matches: (names: readonly string[]) => boolean
  readonly isTakenBack: boolean
  readonly isOfFolders: boolean
}

interface Gitignore {
  readonly path: string
  readonly bytes: number
  readonly rules: readonly IgnoreRule[]
}

/** `at` is the path by which the folder can be opened now. */
export function gitignoreIn (at: string, path: string, above: readonly Gitignore[]): Gitignore {
  const room = above.reduce((rest, { bytes }) => rest - bytes, MAX_BYTES)
  const content = readPlainSync(join(at, '.gitignore'), room)
  const lines = content?.toString().split('\n') ?? []
  return { path, bytes: content?.length ?? 0, rules: lines.flatMap(ruleOf) }
}

/** The last matching line of the nearest `.gitignore` decides. */
export function isIgnored (gitignores: readonly Gitignore[], path: string, isFolder: boolean): boolean {
  for (const { path: folder, rules } of gitignores.toReversed()) {
    if (rules.length === 0) continue
    const names = (folder === '' ? path : path.slice(folder.length + 1)).toLowerCase().split('/')
    const rule = rules.findLast(({ matches, isOfFolders }) => (isFolder || !isOfFolders) && matches(names))
    if (rule !== undefined) return !rule.isTakenBack
  }
  return false
}

/** Names match in any case of letters, as on the file systems of Windows and macOS. */
function ruleOf (line: string): IgnoreRule[] {
  const text = withoutBlanks(line)
  if (text === '' || text.startsWith('#')) return []
  const isTakenBack = text.startsWith('!')
  const pattern = (isTakenBack ? text.slice(1) : text).toLowerCase()
  const isOfFolders = pattern.endsWith('/')
  const plain = isOfFolders ? pattern.slice(0, -1) : pattern
  // A pattern with a slash is one of paths, which begin at the folder of the `.gitignore`.
  return [{ matches: matchPath(plain.startsWith('/') ? plain.slice(1) : plain, plain.includes('/')), isTakenBack, isOfFolders }]
}

function withoutBlanks (line: string): string {
  let end = line.endsWith('\r') ? line.length - 1 : line.length
  while (line[end - 1] === ' ' && line[end - 2] !== '\\') end--
  return line.slice(0, end)
}

const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])
const MAX_DEPTH = 64

/** To sort more names would block the process, so larger folders keep the disk's order. */
const MAX_SORTED = 2000

interface FoundFile {
  readonly path: string
  /** Valid until the walk goes on to the next file. */
  readonly at: string
}

/** Follows no link, also none that is created meanwhile. Synchronous: a third of the time; it yields `undefined` so that the caller can pause. */
export function * walk (root: string, isHidden: (path: string) => boolean): Generator<FoundFile | undefined> {
  yield * walkFolder(root, '', [], isHidden)
}

function * walkFolder (folder: string, path: string, above: readonly Gitignore[], isHidden: (path: string) => boolean): Generator<FoundFile | undefined> {
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
      // Read from the folder, without following links, so that a link is neither a file nor a folder.
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

const MAX_HITS = 50

/** The largest file that is searched and the longest line that a hit shows, in bytes, and the longest query, in UTF-16 units. */
const MAX_SEARCHED_BYTES = 1024 * 1024
const MAX_LINE = 300
const MAX_QUERY = 500

const LINE_END = 0x0a

/** Until `signal` aborts. Lines count from 1. @returns `isTruncated` when there are perhaps more @throws FileRefusal for a query or glob that is not allowed */
export async function search (
  files: WorkspaceFiles,
  query: string,
  glob: string | undefined,
  signal: AbortSignal
) {
  if (query === '' || query.length > MAX_QUERY || /[\r\n]/.test(query)) {
    throw new FileRefusal('ERR_SCHEMA_VALIDATION', `a query is one line of at most ${MAX_QUERY} characters`)
  }
  const isWanted = glob === undefined ? () => true : globOf(glob)
  if (isWanted === undefined) throw new FileRefusal('ERR_SCHEMA_VALIDATION', GLOB_EXPECTED)
  const { root, hidden } = await files.roots()
  const bytes = Buffer.from(query)
  const scratch = Buffer.allocUnsafe(MAX_SEARCHED_BYTES)
  const hits: Array<{ readonly path: string, readonly line: number, readonly text: string }> = []
  const slices = createSlices()
  for (const found of walk(root, path => hidden.includes(join(root, path)))) {
    const content = found !== undefined && isWanted(found.path) ? readPlainSync(found.at, MAX_SEARCHED_BYTES, scratch) : undefined
    if (content !== undefined) for (const { line, text } of linesWith(content, bytes)) hits.push({ path: found?.path ?? '', line, text })
    if (hits.length > MAX_HITS || signal.aborted) return { hits: hits.slice(0, MAX_HITS), isTruncated: true }
    if (slices.isDue()) await slices.pause()
  }
  return { hits, isTruncated: false }
}

function * linesWith (content: Buffer, query: Buffer): Generator<{ readonly line: number, readonly text: string }> {
  let at = content.indexOf(query)
  // A NUL byte tells a binary file.
  if (at < 0 || content.includes(0)) return
  for (let line = 1, start = 0, count = 0; at >= 0 && count <= MAX_HITS; at = content.indexOf(query, start), count++) {
    for (let end = content.indexOf(LINE_END, start); end >= 0 && end < at; end = content.indexOf(LINE_END, start)) {
      start = end + 1
      line++
    }
    const end = content.indexOf(LINE_END, at)
    const from = at - start > MAX_LINE / 2 ? at - MAX_LINE / 2 : start
    yield { line, text: content.subarray(from, end < 0 ? content.length : end).subarray(0, MAX_LINE).toString().trimEnd() }
    if (end < 0) return
    start = end + 1
    line++
  }
}
