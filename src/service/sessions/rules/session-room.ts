import { tooManySessions } from '../../../base/errors.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** How many open sessions one caller may have. */
const MAX_OPEN = 1000

/** How much the copies (forks) of sessions among the last sessions of a caller may take together, in bytes. */
export const MAX_COPIED = 256 * 1024 * 1024

/** How many pages of a caller's last sessions are searched for copies. */
const COPIES_LOOKED = 5

/**
 * Refuses another session to a caller who has too many open ones.
 * @param id of the session that is to begin; if it has begun already, it needs no room
 * @throws TOO_MANY_SESSIONS
 */
export async function requireRoom (store: SessionStore, owner: string, id?: string): Promise<void> {
  if (await store.countOpen(owner) < MAX_OPEN) return
  if (id === undefined || await store.head(id) === undefined) throw tooManySessions(MAX_OPEN)
}

/**
 * How much further copies (forks) of an owner's sessions may take, in bytes; below 0 when nothing more may be copied. Only the owner's last
 * 1,000 sessions count, so an old copy is forgotten after 1,000 new sessions.
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
