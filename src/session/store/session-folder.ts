import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseOwnJson } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import { makePrivateFolder, PRIVATE_FILE, PRIVATE_FOLDER, replaceFile, syncFolder } from '../../base/durable-files.ts'
import { KeyedMutex } from '../../runtime/concurrency.ts'
import { LockWait, ProcessLock } from '../../runtime/process-lock.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { isAbsent } from '../../store/directory-paths.ts'
import { ENDED, type Head, type LogPosition } from '../model.ts'
import {
  type Append, type Appended, type StoredLogEntry, isNext, isSessionId, type ListQuery, refusal, type Renewed, type HeadPage, SessionStoreError, type Taken,
  type Tally
} from './session-store.ts'
import { compareNewest, indexed, type IndexEntry, type ListPosition, matchesQuery, pageOf, SessionIndex } from './session-index.ts'
import { appendLine, formatLine, readPages, readTail, type SessionTail } from './session-file.ts'

/** In ms since a list last used the month's heads. */
const LISTED_MS = 10 * 60_000

/** In ms between two searches for files to remove. */
const SWEEP_MS = 60 * 60_000

interface EndedHead { readonly head: Head, readonly written: number }

/** One folder per month in which sessions began, so that a list reads only the months that it needs. */
class EndedSessions {
  readonly #folder: string
  readonly #keep: number
  readonly #now: () => number
  readonly #months = new Map<string, { readonly heads: Map<string, EndedHead>, listed: number }>()
  #swept = -Infinity
  #sweeping: Promise<void> | undefined

  /** @param keep in ms @param now in ms since 1970 */
  constructor (folder: string, keep: number, now: () => number) {
    this.#folder = folder
    this.#keep = keep
    this.#now = now
  }

  path ({ createdAt, id }: Pick<Head, 'createdAt' | 'id'>): string {
    return join(this.#folder, monthOf(createdAt), `${id}.jsonl`)
  }

  async take (path: string, head: Head): Promise<void> {
    const target = this.path(head)
    await mkdir(join(target, '..'), { recursive: true, mode: PRIVATE_FOLDER })
    await rename(path, target)
    this.note(head)
    this.sweep()
  }

  note (head: Head): void {
    this.#months.get(monthOf(head.createdAt))?.heads.set(head.id, { head, written: this.#now() })
  }

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

  async months (): Promise<string[]> {
    const names = await readdir(this.#folder).catch(orAbsent) ?? []
    return names.filter(name => /^-?\d{4,6}-\d\d$/.test(name)).sort().reverse()
  }

  async heads (month: string): Promise<Head[]> {
    let known = this.#months.get(month)
    if (known === undefined) {
      known = { heads: await this.#read(month), listed: 0 }
      this.#months.set(month, known)
    }
    known.listed = this.#now()
    return [...known.heads.values()].filter(({ written }) => this.#isKept(written)).map(({ head }) => head)
  }

  /** Removes old files at most once an hour. */
  sweep (): void {
    if (this.#now() - this.#swept <= SWEEP_MS) return
    this.#swept = this.#now()
    for (const [month, { listed }] of this.#months) if (this.#now() - listed > LISTED_MS) this.#months.delete(month)
    // A file that cannot be removed is tried again in an hour; lists leave it out.
    this.#sweeping = this.#sweep().catch(() => {})
  }

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

/** @param onError @default throws all but that of a missing file */
function readKnownTail (path: string, onError: (error: unknown) => undefined = orAbsent): SessionTail | undefined {
  try {
    return readTail(path)
  } catch (error) {
    return onError(error)
  }
}

/** Such as `2026-11`. */
function monthOf (time: number): string {
  return new Date(time).toISOString().slice(0, -'-00T00:00:00.000Z'.length)
}

function orAbsent (error: unknown): undefined {
  if (!isAbsent(error)) throw error
}

/** What is known of owners whom no file names. */
const OWNERS = 'owners.json'

/** In ms, to see whether the lock is given up. */
const LOOK_MS = 200

interface IndexedSession extends IndexEntry {
  readonly path: string
  /** In bytes, as this process left the file. */
  readonly length: number
}

interface SessionFolderOptions {
  readonly path: string
  /** How long an ended session is kept, in ms. */
  readonly keep: number
  readonly now: () => number
  readonly log: Log
  /** Another process has taken the folder over. */
  readonly onLost: () => void
  /** Called again and again while the lock's holder has perhaps ended. */
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
  readonly #turns = new KeyedMutex()
  readonly #damaged = new Map<string, string>()
  #owners: ReadonlyMap<string, string> | undefined

  private constructor (options: SessionFolderOptions, lock: ProcessLock) {
    this.#options = options
    this.#lock = lock
    this.#ended = new EndedSessions(join(options.path, 'ended'), options.keep, options.now)
  }

  /** Creates, locks and reads the folder. @throws SessionStoreError when another process holds the lock */
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

  async keepOwner (name: string, text: string | undefined): Promise<void> {
    await this.#turns.run(OWNERS, async () => {
      const owners = new Map(await this.keptOwners())
      if (owners.get(name) === text) return
      if (text === undefined) owners.delete(name)
      else owners.set(name, text)
      const path = join(this.#options.path, OWNERS)
      await replaceFile(path, `${path}.new`, JSON.stringify([...owners]), { mode: PRIVATE_FILE })
      this.#owners = owners
    })
  }

  async keptOwners (): Promise<ReadonlyMap<string, string>> {
    this.#owners ??= new Map(JSON.parse(await readFile(join(this.#options.path, OWNERS), 'utf8').catch(orAbsent) ?? '[]') as Array<[string, string]>)
    return this.#owners
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
    // This process holds the lock, so the driver has ended and the session goes on here.
    this.#index.put(kept.head.driver === undefined ? kept : { ...kept, due: this.#options.now() })
    return undefined
  }

  /** Writes to one file run one after the other. @throws ForeignChange */
  async append (append: Append): Promise<Appended> {
    return await this.#turns.run(append.id, () => this.#append(append))
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
    // A takeover meanwhile is only in the index, so compute from it again. The line's earlier due time is harmless.
    const length = (known?.length ?? 0) + Buffer.byteLength(line)
    await this.#settle({ ...indexed(append, this.#index.get(id) ?? known, now), path, length })
    return 'ok'
  }

  /** A file that cannot be moved stays usable where it is. */
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

  tally (): Tally {
    return this.#index.tally(this.#options.now())
  }

  async list (query: ListQuery, after: ListPosition | undefined): Promise<HeadPage> {
    let found = this.#index.list(query, after)
    const months = query.statuses?.every(status => !ENDED.has(status)) === true ? [] : await this.#ended.months()
    for (const month of months) {
      if (after !== undefined && month > monthOf(after.createdAt)) continue
      if (query.since !== undefined && month < monthOf(query.since)) break
      // All sessions of earlier months are older, so none can add to this page.
      const last = found[query.limit]
      if (last !== undefined && month < monthOf(last.createdAt)) break
      const ended = (await this.#ended.heads(month)).filter(head => matchesQuery(head, query) && (after === undefined || compareNewest(after, head) < 0))
      found = [...found, ...ended].sort(compareNewest)
    }
    return pageOf(found, query.limit)
  }

  asking (): Head[] {
    return this.#index.asking()
  }

  take (by: string, limit: number, lease: number, engines?: ReadonlySet<string>, passed?: ReadonlySet<string>): Taken {
    return this.#index.take(by, limit, lease, this.#options.now(), engines, passed)
  }

  redrive (id: string): boolean {
    return this.#index.redrive(id, this.#options.now())
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

  async close (): Promise<void> {
    await Promise.allSettled([this.#turns.idle(), this.#ended.idle()])
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

  /** The file may have moved between `open` and `ended` meanwhile. */
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

/** @throws SessionStoreError when a living process holds the lock */
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
