import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseOwnJson, stringifyJson } from '../../base/json.ts'
import { PRIVATE_FILE, syncFolder } from '../../base/durable-files.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import type { Head, LogEntry } from '../model.ts'
import { type StoredLogEntry, PAGE_BYTES, PAGE_SIZE } from './session-store.ts'

/** The file is not as this process left it. */
export class SessionFileChanged extends Error {
  override readonly name = 'ForeignChange'
}

/** All that listing and appending need. */
export interface SessionTail {
  readonly last: SessionLine
  /** Bytes up to the end of the last whole line. */
  readonly length: number
  /** Bytes of a half-written line, cut off after a crash. */
  readonly cut: number
}

/** Only the last line can be half-written: each is on the disk before the next begins. No caller was told of it. @throws Error when the file is damaged */
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
  // The first item is the text after the last line end, empty when no line is torn.
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

/** Flushes to the disk. @throws ForeignChange when the length differs; after other errors nothing was added */
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

/** @param length where the last page ends, in bytes */
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

/** Searches backwards, since followers mostly ask for the last entries. */
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

/** Bytes of the first and of the largest block: most lines are short. */
const FIRST_BLOCK = 4 * 1024
const LARGEST_BLOCK = 256 * 1024

/** Synchronous: a quarter of the time of async reading for thousands of files. Callers with many lines have to pause. */
function * linesBackwards (file: number, end: number): Generator<{ readonly start: number, readonly bytes: Buffer }> {
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

async function * linesForwards (file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
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

function more (bytesRead: number): number {
  if (bytesRead === 0) throw new Error('has become shorter while it was read')
  return bytesRead
}

/** Never occurs left of the last field: quotes in JSON strings are escaped. */
const LOG_ENTRY_FIELD = ',"transition":'

const CLOSING = 0x7d

/** The last line gives a session's head and due time when the file is opened. */
interface SessionLine {
  readonly head: Head
  /** In ms since 1970; `undefined` for never. */
  readonly due: number | undefined
  /** In ms since 1970. */
  readonly written: number
}

/** Number and seal come first and the log entry last, so that each can be cut out without parsing. */
export function formatLine ({ seq, text, seal }: StoredLogEntry, { head, due, written }: SessionLine): string {
  return `${stringifyJson({ seq, seal, written, due, head }).slice(0, -1)}${LOG_ENTRY_FIELD}${text}}\n`
}

/** @throws Error when the text is not such a line */
function parseLine (bytes: Buffer): SessionLine {
  const { transition, head, due, written } = parseOwnJson(bytes.toString()) as unknown as SessionLine & { readonly transition: LogEntry }
  if (!Number.isInteger(transition.seq) || head.seq !== transition.seq || !Number.isFinite(written)) throw new Error('it is no line of a session')
  return { head: { ...head, driver: head.driver }, due, written }
}

/** Does not parse the log entry. @throws Error when the text is not such a line */
function entryOfLine (bytes: Buffer): StoredLogEntry {
  const [, seq, seal = ''] = /^\{"seq":(\d+),"seal":"([\w-]*)",/.exec(bytes.toString('latin1', 0, 128)) ?? []
  const start = bytes.indexOf(LOG_ENTRY_FIELD)
  if (seq === undefined || start < 0 || bytes.at(-1) !== CLOSING) throw new Error('a line of it is no line of a session')
  return { seq: Number(seq), seal, text: bytes.toString('utf8', start + LOG_ENTRY_FIELD.length, bytes.length - 1) }
}

function seqOfLine (bytes: Buffer): number {
  return Number(/^\{"seq":(\d+),/.exec(bytes.toString('latin1', 0, 32))?.[1])
}
