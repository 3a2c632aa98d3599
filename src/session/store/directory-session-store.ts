import { access } from 'node:fs/promises'
import { type Log } from '../../runtime/telemetry.ts'
import { checkAppend, SessionListeners, type SessionStore, SessionStoreError } from './session-store.ts'
import { startOfList } from './session-index.ts'
import { SessionFileChanged } from './session-file.ts'
import { SessionFolder } from './session-folder.ts'

/** Each entry is on the disk before the caller is told. After a foreign write, as when the lock expired in sleep, the store stops until a restart. */
export function createDirectorySessionStore ({ path, keep, log, now = Date.now }: {
  readonly path: string
  /** How long an ended session is kept, in ms. */
  readonly keep: number
  readonly log: Log
  /** In ms since 1970. @default Date.now */
  readonly now?: () => number
}): SessionStore {
  const listeners = new SessionListeners()
  let folder: SessionFolder | undefined
  let opening: Promise<SessionFolder> | undefined
  let end: string | undefined
  let problem: string | undefined

  function stop (reason: string): void {
    if (end !== undefined) return
    end = `the sessions in ${path} are not served any more: ${reason}; restart this service`
    log.warn({ path }, end)
  }

  async function open (): Promise<SessionFolder> {
    try {
      folder = await SessionFolder.open({
        path,
        keep,
        now,
        log,
        onLost: () => stop('another process has taken the folder over'),
        onWait: reason => { problem = reason }
      })
      problem = undefined
      return folder
    } finally {
      opening = undefined
    }
  }

  /** @returns `absent` while the folder does not exist @throws SessionStoreError; RangeError of the action */
  async function use<T> (action: (folder: SessionFolder) => T | Promise<T>, absent?: T): Promise<T> {
    try {
      if (end === undefined && folder === undefined && absent !== undefined && !await isThere(path)) return absent
      const used = end === undefined ? folder ?? await (opening ??= open()) : undefined
      if (used !== undefined && end === undefined) return await action(used)
    } catch (error) {
      throw translate(error)
    }
    throw new SessionStoreError(end)
  }

  function translate (error: unknown): unknown {
    if (error instanceof RangeError) return error
    if (error instanceof SessionFileChanged) stop(error.message)
    const reason = error instanceof SessionStoreError ? error.message : `the sessions in ${path} cannot be used: ${(error as Error).message}`
    // One damaged file does not make the whole store fail.
    if (folder === undefined || !(error instanceof SessionStoreError)) problem = reason
    return new SessionStoreError(end ?? reason, { cause: error })
  }

  return {
    async append (append) {
      checkAppend(append)
      const outcome = await use(opened => opened.append(append))
      problem = undefined
      if (outcome === 'ok') queueMicrotask(() => listeners.appended(append.id, append.transition.seq))
      return outcome
    },
    async * read (id, after) {
      const opened = await use(used => used, null)
      if (opened === null) return
      try {
        yield * opened.read(id, after)
      } catch (error) {
        throw translate(error)
      }
    },
    head: async id => await use(async opened => await opened.head(id) ?? null, null) ?? undefined,
    hasOpen: () => use(opened => opened.hasOpen(), false),
    countOpen: owner => use(opened => opened.countOpen(owner), 0),
    tally: () => use(opened => opened.tally(), { open: [], unread: 0, due: 0, overdue: 0, asked: undefined }),
    async list (query) {
      const after = startOfList(query)
      return await use(opened => opened.list(query, after), { heads: [], next: undefined })
    },
    asking: () => use(opened => opened.asking(), []),
    take: (by, limit, lease, engines, passed) => use(opened => opened.take(by, limit, lease, engines, passed), { ids: [], next: undefined }),
    renew: (by, ids, lease) => use(opened => opened.renew(by, ids, lease), []),
    redrive: id => use(opened => opened.redrive(id), false),
    keepOwner: (name, text) => use(opened => opened.keepOwner(name, text)),
    keptOwners: () => use(opened => opened.keptOwners(), new Map()),
    publish (id, live) {
      queueMicrotask(() => listeners.live(id, live))
    },
    async watch (id, listener) {
      if (end !== undefined) throw new SessionStoreError(end)
      return listeners.add(id, listener)
    },
    problem: () => end ?? problem,
    async close () {
      end = 'the store is closed'
      listeners.clear()
      await opening?.catch(() => {})
      await folder?.close()
    }
  }
}

async function isThere (path: string): Promise<boolean> {
  return await access(path).then(() => true, () => false)
}
