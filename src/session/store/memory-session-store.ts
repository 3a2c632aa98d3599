import { ENDED } from '../model.ts'
import { checkAppend, type StoredLogEntry, isNext, PAGE_SIZE, refusal, SessionListeners, type SessionStore, SessionStoreError } from './session-store.ts'
import { indexed, pageOf, SessionIndex, startOfList } from './session-index.ts'

/** For tests and for trying things out: sessions are lost with the process. An ended one is kept for `keep` ms; `now` is in ms since 1970. */
export function createMemorySessionStore ({ keep, now = Date.now }: { readonly keep: number, readonly now?: () => number }): SessionStore {
  const logs = new Map<string, { readonly entry: StoredLogEntry, readonly token: string }[]>()
  const index = new SessionIndex()
  const owners = new Map<string, string>()
  /** In ms since 1970, the earliest first. */
  const ends = new Map<string, number>()
  const listeners = new SessionListeners()
  let closed = false

  /** Every method but `publish` calls this first. @throws SessionStoreError after `close` */
  function enter (): void {
    if (closed) throw new SessionStoreError('the store is closed')
    for (const [id, end] of ends) {
      if (end > now()) break
      ends.delete(id)
      logs.delete(id)
      index.delete(id)
    }
  }

  return {
    async append (append) {
      enter()
      checkAppend(append)
      const { id, transition: { seq, token }, entry: kept } = append
      const log = logs.get(id) ?? []
      const last = log.at(-1)
      const top = last && { seq: last.entry.seq, token: last.token }
      if (!isNext(append, top)) return refusal(append, top, log[seq - 1]?.token)
      logs.set(id, log)
      log.push({ entry: kept, token })
      const entry = indexed(append, index.get(id), now())
      index.put(entry)
      ends.delete(id)
      if (ENDED.has(entry.head.status)) ends.set(id, now() + keep)
      // Later, so that a listener's error does not fail the append.
      queueMicrotask(() => listeners.appended(id, seq))
      return 'ok'
    },
    async * read (id, after) {
      enter()
      const log = logs.get(id) ?? []
      const end = log.length
      for (let start = after; start < end; start += PAGE_SIZE) yield log.slice(start, Math.min(end, start + PAGE_SIZE)).map(({ entry }) => entry)
    },
    async head (id) {
      enter()
      return index.get(id)?.head
    },
    async hasOpen () {
      enter()
      return index.hasOpen()
    },
    async countOpen (owner) {
      enter()
      return index.countOpen(owner)
    },
    async tally () {
      enter()
      return index.tally(now())
    },
    async list (query) {
      enter()
      return pageOf(index.list(query, startOfList(query)), query.limit)
    },
    async asking () {
      enter()
      return index.asking()
    },
    async take (by, limit, lease, engines, passed) {
      enter()
      return index.take(by, limit, lease, now(), engines, passed)
    },
    async renew (by, ids, lease) {
      enter()
      return ids.flatMap(id => index.renew(by, id, lease, now()) ?? [])
    },
    async redrive (id) {
      enter()
      return index.redrive(id, now())
    },
    async keepOwner (name, text) {
      enter()
      if (text === undefined) owners.delete(name)
      else owners.set(name, text)
    },
    async keptOwners () {
      enter()
      return new Map(owners)
    },
    publish (id, live) {
      queueMicrotask(() => listeners.live(id, live))
    },
    async watch (id, listener) {
      enter()
      return listeners.add(id, listener)
    },
    problem: () => closed ? 'the store is closed' : undefined,
    async close () {
      closed = true
      listeners.clear()
    }
  }
}
