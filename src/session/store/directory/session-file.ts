import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PRIVATE_FILE } from '../../../base/private-folder.ts'
import { syncFolder } from '../../../base/sync-folder.ts'
import { createSlices } from '../../../runtime/slices.ts'
import { type Entry, PAGE_BYTES, PAGE_SIZE } from '../../session-store.ts'
import { linesBackwards, linesForwards } from './lines.ts'
import { entryOfLine, parseLine, seqOfLine, type SessionLine } from './session-line.ts'

/** The error that a session's file is not as this process left it: another process has written to it, or somebody has edited it. */
export class ForeignChange extends Error {
  override readonly name = 'ForeignChange'
}

/** The end of a session's file. It is all that is needed to list the session and to append to its file. */
export interface SessionTail {
  readonly last: SessionLine
  /** The length of the file up to the end of its last whole line, in bytes. */
  readonly length: number
  /** The number of bytes of a torn (half-written) line that were cut off after a crash. */
  readonly cut: number
}

/**
 * Reads the end of a session's file. If a crash has left a half-written last line, the line is cut off: no caller was told that it is written. Only
 * the last line can be half-written, since each line is on the disk before the next line is begun.
 * @returns undefined when the file has no whole line
 * @throws Error when the file is damaged, or the disk fails
 */
export function readTail (path: string): SessionTail | undefined {
  const file = openSync(path, 'r+')
  try {
    const { size } = fstatSync(file)
    const found = findLast(file, size)
    const length = found?.length ?? 0
    if (length < size) {
      ftruncateSync(file, length)
      fdatasyncSync(file)
    }
    return found && { ...found, cut: size - length }
  } finally {
    closeSync(file)
  }
}

function findLast (file: number, size: number): { readonly last: SessionLine, readonly length: number } | undefined {
  let torn = 0
  // The first item is the text after the file's last line end. It is empty when no line is torn (half-written).
  for (const { start, bytes } of linesBackwards(file, size)) {
    const end = start + bytes.length
    if (end === size) {
      torn += bytes.length === 0 ? 0 : 1
      continue
    }
    try {
      return { last: parseLine(bytes), length: end + 1 }
    } catch (error) {
      if (++torn > 1) throw new Error(`is damaged before byte ${end}: ${(error as Error).message}`)
    }
  }
  return undefined
}

/**
 * Appends a line to a session's file, and flushes it to the disk.
 * @param length the expected length of the file, in bytes; undefined for a new file
 * @throws ForeignChange when the length differs; other errors of the file system, after which nothing was added
 */
export async function appendLine (path: string, line: string, length: number | undefined): Promise<void> {
  const mode = length === undefined ? constants.O_CREAT | constants.O_EXCL : 0
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND | mode, PRIVATE_FILE).catch(error => {
    const isForeign = error.code === 'EEXIST' || (error.code === 'ENOENT' && length !== undefined)
    throw isForeign ? new ForeignChange(`${path} ${length === undefined ? 'is there already' : 'is gone'}`) : error
  })
  try {
    const { size } = await file.stat()
    if (size !== (length ?? 0)) throw new ForeignChange(`${path} has ${size} bytes, and this process left ${length ?? 0}`)
    await writeWhole(file, line, size)
  } catch (error) {
    if (length === undefined && !(error instanceof ForeignChange)) await rm(path)
    throw error
  } finally {
    await file.close()
  }
  if (length === undefined) await syncFolder(dirname(path))
}

async function writeWhole (file: FileHandle, line: string, size: number): Promise<void> {
  try {
    await file.appendFile(line)
    await file.datasync()
  } catch (error) {
    await file.truncate(size).then(() => file.datasync()).catch(() => {
      throw new ForeignChange(`a line could be neither written nor taken back: ${(error as Error).message}`)
    })
    throw error
  }
}

/** Reads the log entries of a session's file with numbers above `after`, page by page. @param length where the last page ends in the file, in bytes */
export async function * readPages (file: FileHandle, after: number, length: number): AsyncGenerator<readonly Entry[]> {
  let page: Entry[] = []
  let size = 0
  for await (const bytes of linesForwards(file, await startOf(file, after + 1, length), length)) {
    page.push(entryOfLine(bytes))
    size += bytes.length
    if (page.length < PAGE_SIZE && size < PAGE_BYTES) continue
    yield page
    page = []
    size = 0
  }
  if (page.length > 0) yield page
}

/**
 * Finds the line that holds the transition (log entry) with the number `seq`. The search goes backwards, since followers mostly ask for the last
 * entries. @returns offset of the line in the file, in bytes
 */
async function startOf (file: FileHandle, seq: number, length: number): Promise<number> {
  if (seq === 1) return 0
  const slices = createSlices()
  for (const { start, bytes } of linesBackwards(file.fd, length - 1)) {
    if (seqOfLine(bytes) === seq) return start
    if (slices.isDue()) await slices.pause()
  }
  return length
}
