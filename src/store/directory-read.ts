import { close, constants, type Dirent, fstat, open, read, readlinkSync, type Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { decodeBytes, tooLarge, yamlToJson } from './decode-value.ts'
import { kindPrefix, MAX_VALUE_BYTES, type StoredValue, StoreError, type StoreKeys } from './store.ts'
import {
  DOTPROMPT, EXTENSIONS, fileProblem, fileToKey, isAbsent, isDotpromptFile, isEndlessLink, isInside, isRead, isVisible, isYamlFile, keyToFiles
} from './directory-paths.ts'

/** The deepest nesting of folders in a store. It is limited because folders that link to each other make paths without end. */
export const MAX_DEPTH = 32

/** The most files and folders that one listing looks at, because folders that link to each other could make it endless. */
const MAX_ENTRIES = 1_000_000

/** Wrong names that users often give to a folder of the store, such as `prompts` instead of `templates`. Such a folder causes a warning. */
const MISNAMED = /^(?:extension|template|prompts?|environ|environments?|tool|agent|skill|plan)$/

/** The most ignored files that one warning names. */
const MAX_OTHERS = 5

/** The result of listing the folder of a store. */
interface DirectoryListing {
  readonly keys: readonly string[]
  /** Whether any file is reached through symbolic links: then one changed file can mean several changed keys. */
  readonly hasLinks: boolean
}

/** The state of one walk through the folder of a store. */
interface FolderWalk {
  /** The store's folder as a path without symbolic links. */
  readonly root: string
  readonly keys: StoreKeys
  /** The keys that were found, each with the extension of the file that holds its value. */
  readonly found: Map<string, string>
  /** The ignored files that a warning will name at the end, up to `MAX_OTHERS`. */
  readonly others: string[]
  readonly warn: (message: string) => void
  entries: number
  hasLinks: boolean
}

/**
 * Lists the keys that begin with `prefix`, from the files of the store's folder.
 * @param root the store's folder, as a path without symbolic links
 * @param warn called about files that are left out: names with `:`, links to folders outside, second files of a key, other files
 * @throws StoreError or what the file system throws when a folder cannot be read
 */
export async function listDirectory (root: string, prefix: string, keys: StoreKeys, warn: (message: string) => void): Promise<DirectoryListing> {
  const walk: FolderWalk = { root, keys, warn, found: new Map(), others: [], entries: 0, hasLinks: false }
  for (const { key, onDemand = false } of keys.kinds) {
    const own = kindPrefix(keys.prefix, key)
    if ((own.startsWith(prefix) && (!onDemand || own === prefix)) || prefix.startsWith(own)) await visit(walk, join(root, key), [root])
  }
  if (prefix === keys.prefix) await warnOfFolders(root, keys.kinds.map(({ key }) => key), warn)
  if (walk.others.length > 0) warn(`only files that end in ${EXTENSIONS.join(', ')} are read, and not ${walk.others.sort().join(', ')}`)
  return { keys: [...walk.found.keys()].filter(key => key.startsWith(prefix)), hasLinks: walk.hasLinks }
}

async function warnOfFolders (root: string, kinds: readonly string[], warn: (message: string) => void): Promise<void> {
  const misnamed = (await readdir(root)).filter(name => MISNAMED.test(name))
  if (misnamed.length > 0) warn(`only the folders ${kinds.join(', ')} are read, and not ${misnamed.sort().join(', ')}`)
}

/**
 * Walks through a folder, which can be a symbolic link.
 * @param above the true paths of the folders on the way here; a link to one of them is not followed, since the walk would go in circles
 */
async function visit (walk: FolderWalk, folder: string, above: readonly string[]): Promise<void> {
  const place = relative(walk.root, folder)
  try {
    const truePath = await realpath(folder)
    walk.hasLinks ||= truePath !== folder
    if (!isInside(walk.root, truePath)) return walk.warn(`${place} is left out: it is a link that leads outside`)
    if (above.includes(truePath)) return walk.warn(`${place} is left out: it is a link to a folder above it`)
    if (above.length > MAX_DEPTH) throw new StoreError(`${place} is nested deeper than ${MAX_DEPTH} folders`)
    if (!(await stat(truePath)).isDirectory()) return
    for (const entry of await readdir(folder, { withFileTypes: true })) await visitEntry(walk, folder, entry, [...above, truePath])
  } catch (error) {
    // A missing folder counts as empty: perhaps it was removed after it had been listed. Whether the whole store was removed is checked after the walk.
    if (!isAbsent(error) && !isEndlessLink(error)) throw error
  }
}

async function visitEntry (walk: FolderWalk, folder: string, entry: Dirent, above: readonly string[]): Promise<void> {
  if (++walk.entries > MAX_ENTRIES) throw new StoreError(`there are more than ${MAX_ENTRIES} files`)
  if (!isVisible(entry.name)) return
  const path = join(folder, entry.name)
  if (entry.isDirectory()) return await visit(walk, path, above)
  if (entry.isFile()) return addFile(walk, path)
  walk.hasLinks = true
  if (isRead(relative(walk.root, path), walk.keys) && await leadsToFile(walk.root, path)) return addFile(walk, path)
  await visit(walk, path, above)
}

/**
 * Whether a symbolic link leads to a file. A link that leads outside of the store counts as a file, and is not followed: reading the file will report
 * what is wrong.
 */
async function leadsToFile (root: string, link: string): Promise<boolean> {
  try {
    const truePath = await realpath(link)
    return !isInside(root, truePath) || (await stat(truePath)).isFile()
  } catch (error) {
    if (isAbsent(error) || isEndlessLink(error)) return false
    throw error
  }
}

/** Notes an ignored file, such as `a.txt` or `a.JSON`, whose author most likely meant it to be read. Files that editors leave behind are not noted. */
function noteOther (walk: FolderWalk, place: string): void {
  const isMeant = isVisible(basename(place)) && /\.(?:txt|md|tmpl|hbs|json|ya?ml)$/i.test(place) && !/readme\.\w+$/i.test(place)
  if (isMeant && walk.others.length < MAX_OTHERS) walk.others.push(place)
}

function addFile (walk: FolderWalk, path: string): void {
  const place = relative(walk.root, path)
  if (!isRead(place, walk.keys)) return noteOther(walk, place)
  const key = fileToKey(place, walk.keys)
  if (key === undefined) return walk.warn(`${place} is left out: its path has a ":" or "\\", which no key can have there`)
  const extension = extname(path)
  const other = walk.found.get(key)
  const winner = [...EXTENSIONS, DOTPROMPT].find(candidate => candidate === other || candidate === extension) ?? extension
  walk.found.set(key, winner)
  if (other !== undefined) walk.warn(`${key} has two files, ${other} and ${extension}: the ${winner} file is used`)
}

// The file handles of node:fs/promises take a third longer, and the store reads a thousand files at a time.
const openFile = promisify(open)
const statFile = promisify(fstat)
const readPiece = promisify(read)
const closeFile = promisify(close)

/** Finds out where folders really are, when symbolic links lead to them. */
export interface TrueFolders {
  /** The store's folder as a path without symbolic links. */
  readonly root: string
  /** The path of a folder without symbolic links. Throws what the file system throws. */
  readonly find: (folder: string) => Promise<string>
}

/**
 * Makes a cache of the true paths of folders, because a read of the whole store has a thousand files in a few folders.
 * @param root the store's folder, as a path without symbolic links
 */
export function createTrueFolders (root: string): TrueFolders {
  const found = new Map<string, Promise<string>>()
  return {
    root,
    find (folder) {
      const path = found.get(folder) ?? realpath(folder)
      found.set(folder, path)
      return path
    }
  }
}

/**
 * Reads the value of one key, from the first of the key's possible files that exists.
 * @throws what the file system throws when the disk itself is in trouble
 */
export async function readKey (folders: TrueFolders, key: string, keys: StoreKeys): Promise<StoredValue> {
  for (const file of keyToFiles(key, keys)) {
    const value = await readFile(folders, join(folders.root, file))
    if (value.kind !== 'missing') return value
  }
  return { kind: 'missing' }
}

async function readFile (folders: TrueFolders, path: string): Promise<StoredValue> {
  try {
    const value = await readThroughLinks(folders, path)
    if (value.kind !== 'text') return value
    if (isYamlFile(path)) return yamlToJson(value.text)
    return isDotpromptFile(path) ? await readDotprompt(value.text, path) : value
  } catch (error) {
    if (isAbsent(error)) return { kind: 'missing' }
    const reason = fileProblem(error)
    if (reason === undefined) throw error
    return { kind: 'bad', reason }
  }
}

/** Reads a `.prompt` file. The code for it is loaded with the first such file, since most stores have none. */
async function readDotprompt (text: string, path: string): Promise<StoredValue> {
  const { dotpromptToJson } = await import('./read-dotprompt.ts')
  return dotpromptToJson(text, path)
}

async function readThroughLinks ({ root, find }: TrueFolders, path: string): Promise<StoredValue> {
  const place = join(await find(dirname(path)), basename(path))
  // Where opening a file cannot refuse a symbolic link (on Windows), every path is resolved first.
  if (constants.O_NOFOLLOW === undefined) return await readInside(root, await realpath(place))
  try {
    return await readInside(root, place)
  } catch (error) {
    if (!isEndlessLink(error)) throw error
    return await readInside(root, await realpath(place))
  }
}

/** Reads a file if it lies inside the store. @param path a path without symbolic links */
async function readInside (root: string, path: string): Promise<StoredValue> {
  return isInside(root, path) ? await readContent(root, path) : OUTSIDE
}

const OUTSIDE: StoredValue = { kind: 'bad', reason: 'is a link that leads outside the folder of the store' }

/**
 * Reads the content of a file. It is opened with O_NONBLOCK, because opening a named pipe would wait for a writer, and with O_NOFOLLOW, which fails
 * with ELOOP for a symbolic link, because the link can lead outside of the store.
 */
async function readContent (root: string, path: string): Promise<StoredValue> {
  const file = await openFile(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stats = await statFile(file)
    if (!stats.isFile()) return { kind: 'missing' }
    const truePath = await truePathOf(file, path, stats)
    if (truePath === undefined || !isInside(root, truePath)) return OUTSIDE
    if (stats.size > MAX_VALUE_BYTES) return tooLarge(stats.size)
    return decodeBytes(await readAtMost(file, MAX_VALUE_BYTES + 1, stats.size))
  } finally {
    await closeFile(file)
  }
}

/**
 * The true path of an open file. Perhaps a folder on the way has been replaced by a symbolic link since the path was checked. Where the system does not
 * tell the path of an open file, the path is resolved again. The result is `undefined` when it then leads to another file than the open one.
 */
async function truePathOf (file: number, path: string, { dev, ino }: Stats): Promise<string | undefined> {
  try {
    // The kernel answers from memory. Waiting for a thread would take ten times as long, and a store has a thousand files.
    return readlinkSync(`/proc/self/fd/${file}`)
  } catch {
    const now = await realpath(path)
    const found = await stat(now)
    return found.dev === dev && found.ino === ino ? now : undefined
  }
}

/**
 * Reads to the end of a file, but never more than `most` bytes; the file can grow after `stat`. A regular file gives fewer bytes than it was asked
 * for only at its end.
 */
async function readAtMost (file: number, most: number, expected: number): Promise<Buffer> {
  let buffer = Buffer.allocUnsafe(Math.min(most, expected + 1))
  let length = 0
  for (;;) {
    const { bytesRead } = await readPiece(file, buffer, length, buffer.length - length, null)
    length += bytesRead
    if (length < buffer.length || length === most) return buffer.subarray(0, length)
    buffer = Buffer.concat([buffer], Math.min(most, 2 * length))
  }
}
