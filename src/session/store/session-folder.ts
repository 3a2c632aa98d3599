import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseOwnJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { makePrivateFolder, PRIVATE_FOLDER, syncFolder } from '../../base/durable-files.ts'
import { LockWait, ProcessLock } from '../../runtime/process-lock.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { isAbsent } from '../../store/directory-paths.ts'
import { ENDED, type Head, type LogPosition } from '../model.ts'
import {
  type Append, type Appended, type StoredLogEntry, isNext, isSessionId, type ListQuery, refusal, type Renewed, type HeadPage, SessionStoreError, type Taken
} from './session-store.ts'
import { compareNewest, cursorOf, indexed, type IndexEntry, matchesQuery, type ListPosition, SessionIndex } from './session-index.ts'
import { appendLine, formatLine, readPages, readTail, type SessionTail } from './session-file.ts'

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
class EndedSessions {
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
async function forEachSession (folder: string, action: (id: string, path: string) => void | Promise<void>): Promise<void> {
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
function monthOf (time: number): string {
  return new Date(time).toISOString().slice(0, -'-00T00:00:00.000Z'.length)
}

function orAbsent (error: unknown): undefined {
  if (!isAbsent(error)) throw error
}

/** The interval at which this process looks whether the folder's lock is given up, in ms. */
const LOOK_MS = 200

/** A session in the folder's index: its head (summary), its due time (from when on a replica can take it over), and the path and length of its file. */
interface IndexedSession extends IndexEntry {
  readonly path: string
  /** The length of the file as this process left it, in bytes. */
  readonly length: number
}

export interface SessionFolderOptions {
  readonly path: string
  /** How long an ended session is kept, in ms. */
  readonly keep: number
  readonly now: () => number
  readonly log: Log
  /** Called when this process has lost the lock of the folder, because another process has taken the folder over. */
  readonly onLost: () => void
  /** Called with words, again and again, while this process waits for the lock of a process that has perhaps ended. */
  readonly onWait: (reason: string) => void
}

/**
 * A folder of sessions that belongs to this process. `open/<id>.jsonl` has a line for each log entry of a session, and `ended/<month>/` has the
 * files of ended sessions. Heads (summaries) and due times (from when on a replica can take a session over) of open sessions are in memory, and are
 * lost with the process. When the next process opens the folder, a session that a replica drove is due at once, any other at the due time of its last line.
 */
export class SessionFolder {
  readonly #options: SessionFolderOptions
  readonly #lock: ProcessLock
  readonly #index = new SessionIndex<IndexedSession>()
  readonly #ended: EndedSessions
  /** The newest write to each session's file that has not ended, by the session's id. The next write to the same file waits for this one. */
  readonly #turns = new Map<string, Promise<unknown>>()
  /** The reason why a session's file is damaged, by the session's id. */
  readonly #damaged = new Map<string, string>()

  private constructor (options: SessionFolderOptions, lock: ProcessLock) {
    this.#options = options
    this.#lock = lock
    this.#ended = new EndedSessions(join(options.path, 'ended'), options.keep, options.now)
  }

  /**
   * Opens a folder of sessions: creates it if it is missing, locks it for this process, and reads the last line of each open session.
   * @throws SessionStoreError when another process holds the lock; errors of the file system
   */
  static async open (options: SessionFolderOptions): Promise<SessionFolder> {
    await makePrivateFolder(options.path)
    await makePrivateFolder(join(options.path, 'open'))
    const lock = await lockFolder(options)
    try {
      const folder = new SessionFolder(options, lock)
      await syncFolder(options.path)
      await folder.#load()
      return folder
    } catch (error) {
      await lock.release()
      throw error
    }
  }

  async #load (): Promise<void> {
    await forEachSession(join(this.#options.path, 'open'), (id, path) => {
      try {
        return this.#loadOne(id, path)
      } catch (error) {
        const reason = `the file of session ${id} ${(error as Error).message}`
        this.#damaged.set(id, reason)
        this.#options.log.warn({ session: id }, reason)
        return undefined
      }
    })
    this.#ended.sweep()
  }

  #loadOne (id: string, path: string): Promise<void> | undefined {
    const tail = readTail(path)
    if (tail === undefined) return rm(path)
    if (tail.cut > 0) this.#options.log.warn({ session: id, bytes: tail.cut }, 'a line of a session was torn, and is cut off')
    if (ENDED.has(tail.last.head.status)) return this.#ended.take(path, tail.last.head)
    const kept = indexedSessionOf(path, tail)
    // This process holds the folder's lock. So the process that drove the session has ended, and this process has to continue the session now.
    this.#index.put(kept.head.driver === undefined ? kept : { ...kept, due: this.#options.now() })
    return undefined
  }

  /**
   * Appends a transition (log entry) to a session's file. Writes to one session's file run one after the other, so that each starts from the result
   * of the previous write.
   * @throws ForeignChange
   */
  async append (append: Append): Promise<Appended> {
    const { id } = append
    const before = this.#turns.get(id)
    const turn = (async () => {
      await before?.catch(() => {})
      return await this.#append(append)
    })()
    this.#turns.set(id, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id)
    }
  }

  async #append (append: Append): Promise<Appended> {
    const { id, transition, entry: kept } = append
    const known = await this.#find(id)
    if (!isNext(append, known?.head)) return refusal(append, known?.head, known && await this.#tokenAt(known, transition.seq))
    const now = this.#options.now()
    const entry = indexed(append, known, now)
    const line = formatLine(kept, { head: entry.head, due: entry.due, written: now })
    const path = known?.path ?? this.#openPath(id)
    await appendLine(path, line, known?.length)
    // Somebody can have taken the session over while the line was written. Only the index in memory knows that, so the entry is computed from the index
    // again. The due time in the line is then too early, which is harmless.
    const length = (known?.length ?? 0) + Buffer.byteLength(line)
    await this.#settle({ ...indexed(append, this.#index.get(id) ?? known, now), path, length })
    return 'ok'
  }

  /** Moves a session's file to the folder `open` or `ended`, as the session's status says. A file that cannot be moved stays usable where it is. */
  async #settle (kept: IndexedSession): Promise<void> {
    const { path, head } = kept
    const open = this.#openPath(head.id)
    this.#index.put(kept)
    try {
      if (ENDED.has(head.status)) {
        if (path === open) await this.#ended.take(path, head)
        else this.#ended.note(head)
        this.#index.delete(head.id)
      } else if (path !== open) {
        await rename(path, open)
        this.#ended.forget(head)
        this.#index.put({ ...kept, path: open })
      }
    } catch (error) {
      this.#options.log.warn({ session: head.id, err: error }, 'the file of a session could not be moved')
    }
  }

  async * read (id: string, after: number): AsyncGenerator<readonly StoredLogEntry[]> {
    const known = await this.#find(id)
    if (known === undefined || after >= known.head.seq) return
    const file = await this.#openFile(known)
    try {
      yield * readPages(file, after, known.length)
    } finally {
      await file.close()
    }
  }

  async head (id: string): Promise<Head | undefined> {
    return (await this.#find(id))?.head
  }

  hasOpen (): boolean {
    return this.#index.hasOpen()
  }

  countOpen (owner: string): number {
    return this.#index.countOpen(owner)
  }

  /** Gives one page of the list of sessions. @param after the session after which the page begins */
  async list (query: ListQuery, after: ListPosition | undefined): Promise<HeadPage> {
    let found = this.#index.list(query, after)
    const months = query.statuses?.every(status => !ENDED.has(status)) === true ? [] : await this.#ended.months()
    for (const month of months) {
      if (after !== undefined && month > monthOf(after.createdAt)) continue
      // All sessions of an earlier month are older than those of a later one, so no earlier month can add to this page.
      const last = found[query.limit]
      if (last !== undefined && month < monthOf(last.createdAt)) break
      const ended = (await this.#ended.heads(month)).filter(head => matchesQuery(head, query) && (after === undefined || compareNewest(after, head) < 0))
      found = [...found, ...ended].sort(compareNewest)
    }
    const heads = found.slice(0, query.limit)
    const last = heads.at(-1)
    return { heads, next: last !== undefined && found.length > heads.length ? cursorOf(last) : undefined }
  }

  take (by: string, limit: number, lease: number, engines?: ReadonlySet<string>): Taken {
    return this.#index.take(by, limit, lease, this.#options.now(), engines)
  }

  async renew (by: string, ids: readonly string[], lease: number): Promise<Renewed[]> {
    const renewed = await Promise.all(ids.map(async id => {
      const mine = this.#index.renew(by, id, lease, this.#options.now())
      if (mine !== undefined) return mine
      const head = await this.head(id)
      return head && { id, seq: head.seq, isYours: false }
    }))
    return renewed.filter(one => one !== undefined)
  }

  /** Waits until the running writes and removals of files have ended, then releases the folder's lock. */
  async close (): Promise<void> {
    await Promise.allSettled([...this.#turns.values(), this.#ended.idle()])
    await this.#lock.release().catch(() => {})
  }

  async #find (id: string): Promise<IndexedSession | undefined> {
    if (!isSessionId(id)) return undefined
    const open = this.#index.get(id)
    if (open !== undefined) return open
    const reason = this.#damaged.get(id)
    if (reason !== undefined) throw new SessionStoreError(reason)
    const tail = await this.#ended.find(id)
    return tail && indexedSessionOf(this.#ended.path(tail.last.head), tail)
  }

  async #tokenAt (kept: IndexedSession, seq: number): Promise<string | undefined> {
    if (seq > kept.head.seq) return undefined
    const file = await this.#openFile(kept)
    try {
      const { value: page } = await readPages(file, seq - 1, kept.length).next()
      const [entry] = page as readonly StoredLogEntry[]
      return entry && (parseOwnJson(entry.text) as unknown as LogPosition).token
    } finally {
      await file.close()
    }
  }

  /** Opens a session's file. When the session has ended meanwhile, or was opened again, its file is in the other of the folders `open` and `ended`. */
  async #openFile ({ path, head }: IndexedSession): Promise<FileHandle> {
    try {
      return await open(path)
    } catch (error) {
      if (!isAbsent(error)) throw error
      return await open(path === this.#openPath(head.id) ? this.#ended.path(head) : this.#openPath(head.id))
    }
  }

  #openPath (id: string): string {
    return join(this.#options.path, 'open', `${id}.jsonl`)
  }
}

/** Locks a folder for this process. @throws SessionStoreError when a living process holds the lock */
async function lockFolder ({ path, onLost, onWait }: SessionFolderOptions): Promise<ProcessLock> {
  const wait = new LockWait(path)
  try {
    for (;;) {
      const lock = await wait.attempt(onLost)
      if (lock instanceof ProcessLock) return lock
      const { isAlive, description } = lock
      if (isAlive) throw new SessionStoreError(`another process uses the folder ${path}, ${description}; sessions in a folder belong to one process`)
      onWait(`waits to see whether ${description}, which has the lock of ${path}, still lives`)
      await delay(LOOK_MS)
    }
  } finally {
    wait.end()
  }
}

function indexedSessionOf (path: string, { last: { head, due }, length }: SessionTail): IndexedSession {
  return { path, head, due, length }
}
