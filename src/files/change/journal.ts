import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, PRIVATE_FILE, PRIVATE_FOLDER, syncFolder, writeNewFile } from '../../base/durable-files.ts'
import type { JsonObject } from '../../base/json.ts'
import { LockWait, ProcessLock } from '../../runtime/process-lock.ts'
import { FileRefusal } from '../workspace-files.ts'
import type { Conflict, ChangeStep } from './change-rules.ts'

/** In ms that a change can be undone, and in bytes of a workspace's journal. */
const KEPT_MS = 30 * 24 * 3_600_000
const KEPT_BYTES = 1024 * 1024 * 1024

const OPEN = '.open'

/** Written before the first file is changed. */
export interface JournalEntry {
  readonly version: 1
  /** `session.seq.n` */
  readonly id: string
  /** In ms since 1970. */
  readonly at: number
  readonly kind: 'do' | 'undo' | 'redo'
  /** For an undo the undone change; for a redo the undo that was taken back. */
  readonly of?: string
  /** The change in whose folder the contents are: for an undo or a redo, the original one. */
  readonly source: string
  readonly steps: readonly ChangeStep[]
  readonly conflicts: readonly Conflict[]
  /** By SHA-256: offset and length in bytes in the file `images` of `source`. */
  readonly images: Readonly<Record<string, readonly [number, number]>>
}

export interface ChangeFailure {
  readonly kind: 'failure'
  readonly code: string
  readonly message: string
}

export type ChangeOutcome = ChangeFailure | { readonly kind: 'result', readonly result: JsonObject }

export interface EndedEntry extends JournalEntry {
  readonly failure: ChangeFailure | undefined
}

/** A change's folder is on the disk before the first file is changed, and is renamed when the change has ended. */
export class Journal {
  readonly folder: string

  constructor (folder: string) {
    this.folder = folder
  }

  /** Flushes the record to the disk. `known` contents are there already. @throws errors of the file system; then nothing is left */
  async begin (
    entry: Omit<JournalEntry, 'images' | 'version'>, contents: AsyncIterable<readonly [string, Buffer]>, known: JournalEntry['images'] = {}
  ): Promise<JournalEntry> {
    const folder = this.#open(entry.id)
    try {
      await mkdir(folder, PRIVATE_FOLDER)
      const images = { ...known, ...await writeImages(join(folder, 'images'), contents) }
      const whole: JournalEntry = { version: 1, ...entry, images }
      await writeWhole(folder, 'entry.json', JSON.stringify(whole))
      await syncFolder(this.folder)
      return whole
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** Success needs no space on the disk, only the renaming of a folder. */
  async end (entry: JournalEntry, failure: ChangeFailure | undefined): Promise<void> {
    const folder = this.#open(entry.id)
    try {
      if (failure !== undefined) await writeWhole(folder, 'failure.json', JSON.stringify(failure))
    } catch {
      // The failure could not be written: without the record, a repeated request begins the change anew.
      return await rm(folder, { recursive: true, force: true })
    }
    await rename(folder, join(this.folder, entry.id))
    await syncFolder(this.folder)
  }

  /** The oldest first. Incomplete records are removed, since no file was changed yet. */
  async unfinished (): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = []
    for (const name of await this.#names()) {
      if (!name.endsWith(OPEN)) continue
      const entry = await readJson<JournalEntry>(join(this.folder, name, 'entry.json'))
      if (entry !== undefined) entries.push(entry)
      else await rm(join(this.folder, name), { recursive: true, force: true })
    }
    return entries.sort((a, b) => a.at - b.at)
  }

  async ended (id: string): Promise<EndedEntry | undefined> {
    const [entry, failure] =
      await Promise.all([readJson<JournalEntry>(join(this.folder, id, 'entry.json')), readJson<ChangeFailure>(join(this.folder, id, 'failure.json'))])
    return entry && { ...entry, failure }
  }

  /** The oldest first. */
  async endedOf (session: string): Promise<EndedEntry[]> {
    const ids = (await this.#names()).filter(name => name.startsWith(`${session}.`) && !name.endsWith(OPEN))
    const entries = await Promise.all(ids.map(id => this.ended(id)))
    return entries.filter(entry => entry !== undefined).filter(({ failure }) => failure === undefined).sort((a, b) => compareIds(a.id, b.id))
  }

  /** @throws Error when the journal no longer has it */
  async image ({ source, images }: JournalEntry, sha256: string): Promise<Buffer> {
    const [start, length] = Object.hasOwn(images, sha256) ? images[sha256] as readonly [number, number] : [0, -1]
    if (length < 0) throw new Error('the journal does not have a content that it needs')
    const path = join(this.folder, source, 'images')
    const file = await open(path).catch(() => open(join(this.#open(source), 'images')))
    try {
      const bytes = Buffer.alloc(length)
      await file.read(bytes, 0, length, start)
      return bytes
    } finally {
      await file.close()
    }
  }

  async contentOf (session: string, sha256: string): Promise<Buffer | undefined> {
    const entry = (await this.endedOf(session)).find(({ images }) => Object.hasOwn(images, sha256))
    return entry === undefined ? undefined : await this.image(entry, sha256).catch(() => undefined)
  }

  /** Changes whose records are removed can no longer be undone. */
  async prune (now: number): Promise<void> {
    const names = (await this.#names()).filter(name => !name.endsWith(OPEN) && name.includes('.'))
    const known = (await Promise.all(names.map(async name => {
      const [folder, images] = await Promise.all([
        stat(join(this.folder, name)).catch(() => undefined),
        stat(join(this.folder, name, 'images')).catch(() => undefined)
      ])
      return folder?.isDirectory() === true ? [{ name, at: folder.mtimeMs, size: images?.size ?? 0 }] : []
    }))).flat().sort((a, b) => b.at - a.at)
    let bytes = 0
    for (const { name, at, size } of known) {
      bytes += size
      if (now - at > KEPT_MS || bytes > KEPT_BYTES) await rm(join(this.folder, name), { recursive: true, force: true })
    }
  }

  #open (id: string): string {
    return join(this.folder, id + OPEN)
  }

  async #names (): Promise<string[]> {
    return await readdir(this.folder).catch((error: unknown) => {
      // The folder does not exist before the first change.
      if (errorCode(error) === 'ENOENT') return []
      throw error
    })
  }
}

async function writeImages (path: string, contents: AsyncIterable<readonly [string, Buffer]>): Promise<Record<string, readonly [number, number]>> {
  const images: Record<string, readonly [number, number]> = {}
  const file = await open(path, 'wx', PRIVATE_FILE)
  try {
    let length = 0
    for await (const [hash, bytes] of contents) {
      if (Object.hasOwn(images, hash)) continue
      await file.appendFile(bytes)
      images[hash] = [length, bytes.length]
      length += bytes.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return images
}

async function writeWhole (folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `${name}.tmp`)
  await rm(temporary, { force: true })
  await writeNewFile(temporary, text, { mode: PRIVATE_FILE })
  await rename(temporary, join(folder, name))
  await syncFolder(folder)
}

async function readJson<T> (path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** The numbers are in the order of time. */
function compareIds (a: string, b: string): number {
  const [aNumbers, bNumbers] = [a, b].map(id => id.split('.').slice(-2).map(Number)) as [number[], number[]]
  return (aNumbers[0] ?? 0) - (bNumbers[0] ?? 0) || (aNumbers[1] ?? 0) - (bNumbers[1] ?? 0)
}

/** In ms. */
const LOOK_MS = 50

/** Such as after a long sleep of this process. */
export class LockLost extends Error {
  override readonly name = 'LockLost'
}

/** Excludes calls in other processes too. `use` has to call its check before each step (LockLost). @throws FileRefusal WORKSPACE_BUSY on abort */
export async function whileLocked<T> (folder: string, signal: AbortSignal, use: (assertHeld: () => void) => Promise<T>): Promise<T> {
  const lock = await waitFor(folder, signal)
  try {
    return await use(() => { if (!lock.isHeld()) throw new LockLost('another process has taken the workspace over') })
  } finally {
    await lock.release().catch(() => {})
  }
}

async function waitFor (folder: string, signal: AbortSignal): Promise<ProcessLock> {
  const wait = new LockWait(folder)
  try {
    for (;;) {
      const lock = await wait.attempt()
      if (lock instanceof ProcessLock) return lock
      await delay(LOOK_MS, undefined, { signal }).catch(() => {
        throw new FileRefusal('WORKSPACE_BUSY', `files of the workspace are being changed by ${lock.description}`)
      })
    }
  } finally {
    wait.end()
  }
}
