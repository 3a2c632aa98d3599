import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseOwnJson, stringifyJson } from '../../base/json.ts'
import { PRIVATE_FILE, syncFolder } from '../../base/durable-files.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import type { Head, LogEntry } from '../model.ts'
import { type StoredLogEntry, PAGE_BYTES, PAGE_SIZE } from './session-store.ts'

/** The error that a session's file is not as this process left it: another process has written to it, or somebody has edited it. */
export class SessionFileChanged extends Error {
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
    throw isForeign ? new SessionFileChanged(`${path} ${length === undefined ? 'is there already' : 'is gone'}`) : error
  })
  try {
    const { size } = await file.stat()
    if (size !== (length ?? 0)) throw new SessionFileChanged(`${path} has ${size} bytes, and this process left ${length ?? 0}`)
    await writeWhole(file, line, size)
  } catch (error) {
    if (length === undefined && !(error instanceof SessionFileChanged)) await rm(path)
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
      throw new SessionFileChanged(`a line could be neither written nor taken back: ${(error as Error).message}`)
    })
    throw error
  }
}

/** Reads the log entries of a session's file with numbers above `after`, page by page. @param length where the last page ends in the file, in bytes */
export async function * readPages (file: FileHandle, after: number, length: number): AsyncGenerator<readonly StoredLogEntry[]> {
  let page: StoredLogEntry[] = []
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

const LINE_END = 0x0a

/** The size of the first block of a file that is read, and the largest size of a block, in bytes. The first is small, since most lines are short. */
const FIRST_BLOCK = 4 * 1024
const LARGEST_BLOCK = 256 * 1024

/**
 * Yields the lines of a file before an offset, from the last line backwards, each without its line end. Reading is synchronous: for the ends of
 * thousands of files, that takes a quarter of the time of asynchronous reading. A caller that reads many lines has to pause between them.
 */
export function * linesBackwards (file: number, end: number): Generator<{ readonly start: number, readonly bytes: Buffer }> {
  let start = end
  let bytes: Buffer = Buffer.alloc(0)
  for (let block = FIRST_BLOCK; ; block = Math.min(block * 2, LARGEST_BLOCK)) {
    for (let at = bytes.lastIndexOf(LINE_END); at !== -1; at = bytes.lastIndexOf(LINE_END)) {
      yield { start: start + at + 1, bytes: bytes.subarray(at + 1) }
      bytes = bytes.subarray(0, at)
    }
    if (start === 0) break
    const size = Math.min(block, start)
    start -= size
    bytes = Buffer.concat([readNow(file, start, size), bytes])
  }
  if (end > 0) yield { start, bytes }
}

/** Yields the lines of a file between two offsets, each without its line end. */
export async function * linesForwards (file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for (let at = start; at < end; at += LARGEST_BLOCK) {
    const block = await readExactly(file, at, Math.min(LARGEST_BLOCK, end - at))
    let from = 0
    for (let to = block.indexOf(LINE_END, from); to !== -1; to = block.indexOf(LINE_END, from)) {
      const part = block.subarray(from, to)
      yield begun.length === 0 ? part : Buffer.concat([...begun, part])
      begun = []
      from = to + 1
    }
    if (from < block.length) begun.push(block.subarray(from))
  }
}

function readNow (file: number, position: number, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  for (let filled = 0; filled < length;) filled += more(readSync(file, buffer, filled, length - filled, position + filled))
  return buffer
}

async function readExactly (file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  for (let filled = 0; filled < length;) filled += more((await file.read(buffer, filled, length - filled, position + filled)).bytesRead)
  return buffer
}

/** Checks that the last call of `read` gave at least one byte. @throws Error when the file ended early */
function more (bytesRead: number): number {
  if (bytesRead === 0) throw new Error('has become shorter while it was read')
  return bytesRead
}

/** The text before the last field of a line, which is the transition. Left of that field the text never occurs: quotes in JSON strings are escaped. */
const LOG_ENTRY_FIELD = ',"transition":'

/** The byte of the closing brace at the end of a line. */
const CLOSING = 0x7d

/** The fields of a line in a session's file, without the transition. When the file is opened, the last line gives the session's head (summary) and due time. */
interface SessionLine {
  readonly head: Head
  /** From when on a replica can take the session over, in ms since 1970; undefined for never. */
  readonly due: number | undefined
  /** When the line was written, by the store's clock, in ms since 1970. */
  readonly written: number
}

/**
 * Formats a line of a session's file, with its line end. The entry's number and seal come first and its transition last, so that a reader can cut
 * out each of them without parsing the line.
 */
export function formatLine ({ seq, text, seal }: StoredLogEntry, { head, due, written }: SessionLine): string {
  return `${stringifyJson({ seq, seal, written, due, head }).slice(0, -1)}${LOG_ENTRY_FIELD}${text}}\n`
}

/** Parses a line of a session's file. @throws Error when the text is not such a line */
function parseLine (bytes: Buffer): SessionLine {
  const { transition, head, due, written } = parseOwnJson(bytes.toString()) as unknown as SessionLine & { readonly transition: LogEntry }
  if (!Number.isInteger(transition.seq) || head.seq !== transition.seq || !Number.isFinite(written)) throw new Error('it is no line of a session')
  return { head: { ...head, driver: head.driver }, due, written }
}

/** Reads the stored log entry in a line without parsing its transition. @throws Error when the text is not a line of a session's file */
function entryOfLine (bytes: Buffer): StoredLogEntry {
  const [, seq, seal = ''] = /^\{"seq":(\d+),"seal":"([\w-]*)",/.exec(bytes.toString('latin1', 0, 128)) ?? []
  const start = bytes.indexOf(LOG_ENTRY_FIELD)
  if (seq === undefined || start < 0 || bytes.at(-1) !== CLOSING) throw new Error('a line of it is no line of a session')
  return { seq: Number(seq), seal, text: bytes.toString('utf8', start + LOG_ENTRY_FIELD.length, bytes.length - 1) }
}

/** The number of the transition in a line of a session's file. */
function seqOfLine (bytes: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(bytes.toString('latin1', 0, 32))?.[1])
}
