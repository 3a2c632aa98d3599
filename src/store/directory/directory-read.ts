import { close, constants, fstat, open, read, readlinkSync, type Stats } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { decodeBytes, tooLarge } from '../decode-bytes.ts'
import { fileProblem, isAbsent, isEndlessLink } from './directory-errors.ts'
import { isDotpromptFile, isInside, isYamlFile, keyToFiles } from './directory-paths.ts'
import { yamlToJson } from '../yaml-to-json.ts'
import { type StoreKeys } from '../keys.ts'
import { MAX_VALUE_BYTES, type StoredValue } from '../store.ts'

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
  const { dotpromptToJson } = await import('../dotprompt/read-dotprompt.ts')
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
