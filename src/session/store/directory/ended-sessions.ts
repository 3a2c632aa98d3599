import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbsent } from '../../../store/directory/directory-errors.ts'
import { type Head } from '../../model.ts'
import { PRIVATE_FOLDER } from '../../../base/private-folder.ts'
import { createSlices } from '../../../runtime/slices.ts'
import { isSessionId } from '../shared/check-append.ts'
import { readTail, type SessionTail } from './session-file.ts'

/** How long the heads (summaries) of a month's ended sessions stay in the cache after a list last used them, in ms. */
const LISTED_MS = 10 * 60_000

/** The shortest time between two searches for files of ended sessions that were kept long enough, in ms. */
const SWEEP_MS = 60 * 60_000

interface EndedHead { readonly head: Head, readonly written: number }
interface Month { readonly heads: Map<string, EndedHead>, listed: number }

/**
 * The files of ended sessions, in one folder for each month in which sessions began, so that a list reads only the months that it needs. The heads
 * (summaries) of a month's sessions are in memory only after a list has read them.
 */
export class EndedSessions {
  readonly #folder: string
  readonly #keep: number
  readonly #now: () => number
  readonly #months = new Map<string, Month>()
  #swept = -Infinity
  #sweeping: Promise<void> | undefined

  /**
   * Creates the object that manages a folder of ended sessions.
   * @param keep how long an ended session is kept, in ms
   * @param now the clock, in ms since 1970
   */
  constructor (folder: string, keep: number, now: () => number) {
    this.#folder = folder
    this.#keep = keep
    this.#now = now
  }

  /** The path of an ended session's file. */
  path ({ createdAt, id }: Pick<Head, 'createdAt' | 'id'>): string {
    return join(this.#folder, monthOf(createdAt), `${id}.jsonl`)
  }

  /** Moves the file of a session that has just ended into the folder of its month. */
  async take (path: string, head: Head): Promise<void> {
    const target = this.path(head)
    await mkdir(join(target, '..'), { recursive: true, mode: PRIVATE_FOLDER })
    await rename(path, target)
    this.note(head)
    this.sweep()
  }

  /** Puts the head (summary) of an ended session into the cache, if the heads of its month are cached. */
  note (head: Head): void {
    this.#months.get(monthOf(head.createdAt))?.heads.set(head.id, { head, written: this.#now() })
  }

  /** Removes a session's head (summary) from the cache, because the session's file was moved to another folder. */
  forget ({ createdAt, id }: Head): void {
    this.#months.get(monthOf(createdAt))?.heads.delete(id)
  }

  async find (id: string): Promise<SessionTail | undefined> {
    for (const month of await this.months()) {
      const tail = readKnownTail(join(this.#folder, month, `${id}.jsonl`))
      if (tail !== undefined && this.#isKept(tail.last.written)) return tail
    }
    return undefined
  }

  /** The months that have a folder, the latest first. */
  async months (): Promise<string[]> {
    const names = await readdir(this.#folder).catch(orAbsent) ?? []
    return names.filter(name => /^-?\d{4,6}-\d\d$/.test(name)).sort().reverse()
  }

  /** Reads the heads (summaries) of the ended sessions of a month, in no order. */
  async heads (month: string): Promise<Head[]> {
    let known = this.#months.get(month)
    if (known === undefined) {
      known = { heads: await this.#read(month), listed: 0 }
      this.#months.set(month, known)
    }
    known.listed = this.#now()
    return [...known.heads.values()].filter(({ written }) => this.#isKept(written)).map(({ head }) => head)
  }

  /** Starts to remove files that were kept long enough, at most once an hour, and drops the cached heads (summaries) of months that nobody lists. */
  sweep (): void {
    if (this.#now() - this.#swept <= SWEEP_MS) return
    this.#swept = this.#now()
    for (const [month, { listed }] of this.#months) if (this.#now() - listed > LISTED_MS) this.#months.delete(month)
    // The removal of a file that cannot be removed now is tried again in an hour. Until then, lists leave its session out.
    this.#sweeping = this.#sweep().catch(() => {})
  }

  /** Resolves when no removal of files is running. */
  async idle (): Promise<void> {
    await this.#sweeping
  }

  async #sweep (): Promise<void> {
    for (const month of await this.months()) {
      const folder = join(this.#folder, month)
      await forEachSession(folder, (_id, path) => {
        const tail = readKnownTail(path, () => undefined)
        return tail === undefined || this.#isKept(tail.last.written) ? undefined : rm(path)
      })
      await rmdir(folder).catch(() => {})
    }
  }

  #isKept (written: number): boolean {
    return written + this.#keep > this.#now()
  }

  async #read (month: string): Promise<Map<string, EndedHead>> {
    const heads = new Map<string, EndedHead>()
    await forEachSession(join(this.#folder, month), (id, path) => {
      const tail = readKnownTail(path, () => undefined)
      if (tail !== undefined) heads.set(id, { head: tail.last.head, written: tail.last.written })
    })
    return heads
  }
}

/** Calls `action` for each session's file in a folder, with pauses for other work. Files with other names are skipped. */
export async function forEachSession (folder: string, action: (id: string, path: string) => void | Promise<void>): Promise<void> {
  const slices = createSlices()
  for (const name of await readdir(folder).catch(orAbsent) ?? []) {
    const id = name.slice(0, -'.jsonl'.length)
    if (!name.endsWith('.jsonl') || !isSessionId(id)) continue
    const done = action(id, join(folder, name))
    if (done !== undefined) await done
    if (slices.isDue()) await slices.pause()
  }
}

/**
 * Reads the end of a session's file; undefined where there is no file.
 * @param onError handles errors of reading. @default throws every error except that of a missing file
 */
function readKnownTail (path: string, onError: (error: unknown) => undefined = orAbsent): SessionTail | undefined {
  try {
    return readTail(path)
  } catch (error) {
    return onError(error)
  }
}

/** The name of the month of a time, such as `2026-11`. @param time in ms since 1970 */
export function monthOf (time: number): string {
  return new Date(time).toISOString().slice(0, -'-00T00:00:00.000Z'.length)
}

function orAbsent (error: unknown): undefined {
  if (!isAbsent(error)) throw error
}
