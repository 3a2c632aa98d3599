import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject } from '../../base/json.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../base/private-folder.ts'
import { syncFolder } from '../../base/sync-folder.ts'
import { writeNewFile } from '../durable.ts'
import { errorCode } from '../file-refusal.ts'
import { type Conflict } from './conflict.ts'
import { type Step } from './step.ts'

/** How long changes can be taken back, in ms, and how much disk the journal of one workspace may take, in bytes. */
const KEPT_MS = 30 * 24 * 3_600_000
const KEPT_BYTES = 1024 * 1024 * 1024

/** What the folder of a change is called until it has ended. */
const OPEN = '.open'

/** A change that was begun. */
export interface Entry {
  readonly version: 1
  /** `session.seq.n`. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly kind: 'do' | 'undo' | 'redo'
  /** What is taken back, or done again. */
  readonly of?: string
  /** The change whose journal holds the contents. */
  readonly source: string
  readonly steps: readonly Step[]
  /** What was left out, since somebody else had been there. */
  readonly conflicts: readonly Conflict[]
  /** Where each content is in that file: first byte and length, by SHA-256. */
  readonly images: Readonly<Record<string, readonly [number, number]>>
}

export interface Failure {
  readonly kind: 'failure'
  readonly code: string
  readonly message: string
}

/** How a change ended. */
export type ChangeOutcome = Failure | { readonly kind: 'result', readonly result: JsonObject }

/** A change that has ended. */
export interface EndedEntry extends Entry {
  /** Why all of it was taken back. */
  readonly failure: Failure | undefined
}

/**
 * What the service needs to finish the changes of a workspace, or to take them back. Each change has a folder with its steps
 * and the contents before and after. All of it is on the disk before the first file is changed. When the change has ended,
 * its folder gets the final name.
 */
export class Journal {
  /** Absolute. */
  readonly folder: string

  constructor (folder: string) {
    this.folder = folder
  }

  /**
   * @param contents each with its SHA-256
   * @param known where the contents are that the source of the entry has
   * @throws what the file system throws; then nothing of the entry is left
   */
  async begin (entry: Omit<Entry, 'images' | 'version'>, contents: AsyncIterable<readonly [string, Buffer]>, known: Entry['images'] = {}): Promise<Entry> {
    const folder = this.#open(entry.id)
    try {
      await mkdir(folder, PRIVATE_FOLDER)
      const images = { ...known, ...await writeImages(join(folder, 'images'), contents) }
      const whole: Entry = { version: 1, ...entry, images }
      await writeWhole(folder, 'entry.json', JSON.stringify(whole))
      await syncFolder(this.folder)
      return whole
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** From now on nobody looks after this change any more. To say that it has succeeded takes no space on the disk. */
  async end (entry: Entry, failure: Failure | undefined): Promise<void> {
    const folder = this.#open(entry.id)
    try {
      if (failure !== undefined) await writeWhole(folder, 'failure.json', JSON.stringify(failure))
    } catch {
      // Nothing is left of the change. Whoever asks for it again begins anew.
      return await rm(folder, { recursive: true, force: true })
    }
    await rename(folder, join(this.folder, entry.id))
    await syncFolder(this.folder)
  }

  /** Changes that a crash has left; what was only about to begin is cleared away. */
  async unfinished (): Promise<Entry[]> {
    const entries: Entry[] = []
    for (const name of await this.#names()) {
      if (!name.endsWith(OPEN)) continue
      const entry = await readJson<Entry>(join(this.folder, name, 'entry.json'))
      if (entry !== undefined) entries.push(entry)
      else await rm(join(this.folder, name), { recursive: true, force: true })
    }
    return entries.sort((a, b) => a.at - b.at)
  }

  /** A change that has ended. */
  async ended (id: string): Promise<EndedEntry | undefined> {
    const [entry, failure] = await Promise.all([readJson<Entry>(join(this.folder, id, 'entry.json')), readJson<Failure>(join(this.folder, id, 'failure.json'))])
    return entry && { ...entry, failure }
  }

  /** The changes of a session that have been carried out, the oldest first. */
  async endedOf (session: string): Promise<EndedEntry[]> {
    const ids = (await this.#names()).filter(name => name.startsWith(`${session}.`) && !name.endsWith(OPEN))
    const entries = await Promise.all(ids.map(id => this.ended(id)))
    return entries.filter(entry => entry !== undefined).filter(({ failure }) => failure === undefined).sort((a, b) => compareIds(a.id, b.id))
  }

  /** The content of a file, before or after. @throws when the journal no longer has it */
  async image ({ source, images }: Entry, sha256: string): Promise<Buffer> {
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

  /** A content that any change of a session had before it or after it. */
  async contentOf (session: string, sha256: string): Promise<Buffer | undefined> {
    const entry = (await this.endedOf(session)).find(({ images }) => Object.hasOwn(images, sha256))
    return entry === undefined ? undefined : await this.image(entry, sha256).catch(() => undefined)
  }

  /** Forgets what is too old, and the oldest where there is too much. */
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
      // Nothing was changed yet.
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

/** Effects of a session are numbered in the order in which they were asked for. */
function compareIds (a: string, b: string): number {
  const [aNumbers, bNumbers] = [a, b].map(id => id.split('.').slice(-2).map(Number)) as [number[], number[]]
  return (aNumbers[0] ?? 0) - (bNumbers[0] ?? 0) || (aNumbers[1] ?? 0) - (bNumbers[1] ?? 0)
}
