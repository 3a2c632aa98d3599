import { constants } from 'node:fs'
import { open, realpath, type FileHandle } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { decodeValue, tooLarge } from './decode-value.ts'
import { fileProblem, isAbsent } from './directory-errors.ts'
import { isInside, keyToFiles } from './directory-paths.ts'
import { MAX_VALUE_BYTES, type StoredValue } from './store.ts'
import { yamlToJson } from './yaml-to-json.ts'

/**
 * The value of one key, from the first of its files that is there.
 * @param root the store's folder, without links
 * @throws what the file system throws when the disk itself is in trouble
 */
export async function readKey (root: string, key: string, keyPrefix: string): Promise<StoredValue> {
  for (const file of keyToFiles(key, keyPrefix)) {
    const value = await readFile(root, join(root, file))
    if (value.kind !== 'missing') return value
  }
  return { kind: 'missing' }
}

async function readFile (root: string, path: string): Promise<StoredValue> {
  try {
    const truePath = await realpath(path)
    if (!isInside(root, truePath)) return { kind: 'bad', reason: 'is a link that leads outside the folder of the store' }
    const value = await readContent(truePath)
    return value.kind === 'text' && extname(path) !== '.json' ? yamlToJson(value.text) : value
  } catch (error) {
    if (isAbsent(error)) return { kind: 'missing' }
    const reason = fileProblem(error)
    if (reason === undefined) throw error
    return { kind: 'bad', reason }
  }
}

/** O_NONBLOCK, because opening a named pipe would wait for a writer; O_NOFOLLOW, because the path was just found to have no links. */
async function readContent (path: string): Promise<StoredValue> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return { kind: 'missing' }
    if (stats.size > MAX_VALUE_BYTES) return tooLarge(stats.size)
    return decodeValue(await readAtMost(file, MAX_VALUE_BYTES + 1, stats.size))
  } finally {
    await file.close()
  }
}

/**
 * Reads to the end, for a file can grow between `stat` and now, but never more than `most` bytes. A regular file gives
 * less than it was asked for at its end only.
 */
async function readAtMost (file: FileHandle, most: number, expected: number): Promise<Buffer> {
  let buffer = Buffer.allocUnsafe(Math.min(most, expected + 1))
  let length = 0
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length)
    length += bytesRead
    if (length < buffer.length || length === most) return buffer.subarray(0, length)
    buffer = Buffer.concat([buffer], Math.min(most, 2 * length))
  }
}
