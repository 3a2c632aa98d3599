import { close, constants, type Dirent, fstat, open, read, readlinkSync, type Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { decodeBytes, tooLarge, yamlToJson } from './decode-value.ts'
import { kindPrefix, MAX_VALUE_BYTES, type StoredValue, StoreError, type StoreKeys } from './store.ts'
import {
  DOTPROMPT, EXTENSIONS, fileProblem, fileToKey, isAbsent, isDotpromptFile, isEndlessLink, isInside, isRead, isVisible, isYamlFile, keyToFiles
} from './directory-paths.ts'

/** Bounded because folders that link to each other make paths without end. */
export const MAX_DEPTH = 32

/** Bounded because folders that link to each other could make a listing endless. */
const MAX_ENTRIES = 1_000_000

/** Likely misspellings of a kind's folder (`prompts` for `templates`), which cause a warning. */
const MISNAMED = /^(?:extension|template|prompts?|environ|environments?|tool|agent|skill|plan)$/

const MAX_OTHERS = 5

interface FolderWalk {
  readonly root: string
  readonly keys: StoreKeys
  readonly found: Map<string, string>
  readonly others: string[]
  readonly warn: (message: string) => void
  entries: number
  hasLinks: boolean
}

/** `root` is a path without symbolic links. @throws StoreError or the file system's error when a folder cannot be read */
export async function listDirectory (root: string, prefix: string, keys: StoreKeys, warn: (message: string) => void) {
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

/** `above`: the true paths on the way here; a link to one of them would go in circles. */
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
    // Perhaps it was removed after it was listed; whether the whole store is gone is checked after the walk.
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

/** A link out of the store counts as a file and is not followed: reading it reports what is wrong. */
async function leadsToFile (root: string, link: string): Promise<boolean> {
  try {
    const truePath = await realpath(link)
    return !isInside(root, truePath) || (await stat(truePath)).isFile()
  } catch (error) {
    if (isAbsent(error) || isEndlessLink(error)) return false
    throw error
  }
}

/** Notes files whose author meant them to be read (`a.JSON`), not those that editors leave behind. */
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

// The handles of node:fs/promises take a third longer, and a thousand files are read at a time.
const openFile = promisify(open)
const statFile = promisify(fstat)
const readPiece = promisify(read)
const closeFile = promisify(close)

interface TrueFolders {
  readonly root: string
  readonly find: (folder: string) => Promise<string>
}

/** A cache, because a read of the whole store has a thousand files in a few folders. */
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

/** @throws the file system's error when the disk itself is in trouble */
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

/** Loaded with the first such file, since most stores have none. */
async function readDotprompt (text: string, path: string): Promise<StoredValue> {
  const { dotpromptToJson } = await import('./read-dotprompt.ts')
  return dotpromptToJson(text, path)
}

async function readThroughLinks ({ root, find }: TrueFolders, path: string): Promise<StoredValue> {
  const place = join(await find(dirname(path)), basename(path))
  if (constants.O_NOFOLLOW === undefined) return await readInside(root, await realpath(place))
  try {
    return await readInside(root, place)
  } catch (error) {
    if (!isEndlessLink(error)) throw error
    return await readInside(root, await realpath(place))
  }
}

async function readInside (root: string, path: string): Promise<StoredValue> {
  return isInside(root, path) ? await readContent(root, path) : OUTSIDE
}

const OUTSIDE: StoredValue = { kind: 'bad', reason: 'is a link that leads outside the folder of the store' }

/** O_NONBLOCK, because opening a named pipe waits for a writer; O_NOFOLLOW, because a link can lead out of the store. */
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

/** A folder may have become a link since the check. `undefined` when `path` now leads to another file than the open one. */
async function truePathOf (file: number, path: string, { dev, ino }: Stats): Promise<string | undefined> {
  try {
    // The kernel answers from memory; waiting for a thread takes ten times as long.
    return readlinkSync(`/proc/self/fd/${file}`)
  } catch {
    const now = await realpath(path)
    const found = await stat(now)
    return found.dev === dev && found.ino === ino ? now : undefined
  }
}

/** Never reads more than `most` bytes: the file can grow after `stat`. A regular file gives fewer bytes than asked only at its end. */
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
