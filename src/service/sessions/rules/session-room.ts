import { tooManySessions } from '../../../base/errors.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** The most open sessions (sessions that have not ended) of one caller. */
const MAX_OPEN = 1000

/** The most bytes of all copies (forks) together that are among a caller's last 1,000 sessions. */
export const MAX_COPIED = 256 * 1024 * 1024

/** The most pages, of 200 sessions each, that are searched for copies among a caller's last sessions. */
const COPIES_LOOKED = 5

/**
 * Refuses another session to a caller who has too many open sessions.
 * @param id of the session that is to begin. A session with this id that has begun already needs no room
 * @throws TOO_MANY_SESSIONS
 */
export async function requireRoom (store: SessionStore, owner: string, id?: string): Promise<void> {
  if (await store.countOpen(owner) < MAX_OPEN) return
  if (id === undefined || await store.head(id) === undefined) throw tooManySessions(MAX_OPEN)
}

/**
 * The most bytes that an owner's next copies (forks) of sessions can have; below 0 when the copies so far exceed the limit. Only the owner's
 * last 1,000 sessions count, so an old copy is forgotten after 1,000 new sessions.
 */
export async function roomForCopies (store: SessionStore, owner: string): Promise<number> {
  let copied = 0
  let cursor: string | undefined
  for (let page = 0; page < COPIES_LOOKED; page++) {
    const { heads, next } = await store.list({ owner, limit: 200, ...(cursor === undefined ? {} : { cursor }) })
    for (const head of heads) copied += head.copied ?? 0
    if (next === undefined) break
    cursor = next
  }
  return MAX_COPIED - copied
}
