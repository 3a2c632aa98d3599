import { requestInvalid } from '../../../base/errors.ts'
import { isSessionId } from '../rules/session-rights.ts'
import { type Head } from '../../../session/model.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** The most heads (summaries of sessions) that one query asks the store for. */
const AT_ONCE = 500

/** The last session of a page of approvals: its owner, and its place among the owner's waiting sessions, from 0. */
interface Place { readonly rank: number, readonly owner: string }

/** Which page of the list of approvals is wanted. */
interface PageWanted {
  /** The most sessions on the page. */
  readonly limit: number
  /** The cursor of this page: `next` of the page before. */
  readonly after?: string | undefined
}

/** A page of the sessions in which something waits for a person, and where the next page begins. */
export interface AskingPage {
  readonly heads: readonly Head[]
  readonly next: string | undefined
}

/**
 * Lists sessions that wait for a person, in rounds: the oldest session of each owner, then the second of each. So no owner with many
 * sessions hides those of others. Each page is computed anew: if something is decided in the meantime, later sessions move up.
 * @param owners the names of all tokens
 * @param isWanted whether the caller may know of a session
 * @throws REQUEST_INVALID for a cursor that no page has given
 */
export async function listAsking (store: SessionStore, owners: readonly string[], isWanted: (head: Head) => boolean, page: PageWanted): Promise<AskingPage> {
  const { limit, after } = page
  const last = parsePlace(after)
  const byOwner = await Promise.all([...new Set(owners)].sort().map(async owner => ({ owner, heads: (await askingOf(store, owner)).filter(isWanted) })))
  const heads: Head[] = []
  let place: Place | undefined
  for (let rank = last?.rank ?? 0; byOwner.some(each => each.heads.length > rank); rank++) {
    for (const { owner, heads: own } of byOwner) {
      const head = own[rank]
      if (head === undefined || (rank === last?.rank && owner <= last.owner)) continue
      if (heads.length === limit) return { heads, next: place && `${place.rank}:${place.owner}` }
      heads.push(head)
      place = { rank, owner }
    }
  }
  return { heads, next: undefined }
}

/** The sessions of one owner that wait for approval. The oldest come first, since they expire first. */
async function askingOf (store: SessionStore, owner: string): Promise<Head[]> {
  const heads: Head[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await store.list({ owner, isAsking: true, withChildren: true, limit: AT_ONCE, ...(cursor === undefined ? {} : { cursor }) })
    heads.push(...page.heads)
    cursor = page.next
  }
  return heads.reverse()
}

/** Gives the session `root`, whether or not something waits there, then those of its descendants that wait for a person, the oldest first. */
export async function askingBelow (store: SessionStore, root: string): Promise<ReadonlyArray<{ readonly id: string }>> {
  if (!isSessionId(root)) return []
  const heads: Head[] = []
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await store.list({ root, isAsking: true, limit: AT_ONCE, ...(cursor === undefined ? {} : { cursor }) })
    heads.push(...page.heads)
    cursor = page.next
  }
  return [{ id: root }, ...heads.reverse()]
}

function parsePlace (after: string | undefined): Place | undefined {
  if (after === undefined) return undefined
  const [, rank, owner] = /^(\d{1,6}):([\w.-]{0,64})$/.exec(after) ?? []
  if (rank === undefined || owner === undefined) {
    throw requestInvalid('querystring: after: expected what a page of approvals has given as "next"', { part: 'querystring' })
  }
  return { rank: Number(rank), owner }
}
