import { compareNewest, cursorOf, isWanted, type Place } from '../shared/session-order.ts'
import { type Head } from '../../model.ts'
import { type ListQuery, type SessionPage } from '../../session-store.ts'

/** The most sessions that are read for one page of a list, even if too few of them match the query to fill the page. */
const LOOKED_AT = 2000

/** A session in the list of a shard (a sixteenth of all sessions). The head (summary) is missing when Redis has deleted the session. */
export interface Listed extends Place {
  readonly head: Head | undefined
}

/** Merges the session lists of all shards into one page. Each list has the newest session first, and so has the page. */
export async function mergePage (shards: ReadonlyArray<AsyncIterator<Listed>>, query: ListQuery): Promise<SessionPage> {
  const next = async (shard: AsyncIterator<Listed>) => {
    const { value, done } = await shard.next()
    return done === true ? [] : [{ shard, listed: value }]
  }
  const heads: Head[] = []
  let firsts = (await Promise.all(shards.map(next))).flat()
  for (let looked = 1; firsts.length > 0; looked++) {
    const newest = firsts.reduce((best, first) => compareNewest(first.listed, best.listed) < 0 ? first : best)
    const { head } = newest.listed
    if (head !== undefined && isWanted(head, query)) heads.push(head)
    firsts = [...firsts.filter(first => first !== newest), ...await next(newest.shard)]
    if (firsts.length > 0 && (heads.length === query.limit || looked === LOOKED_AT)) return { heads, next: cursorOf(newest.listed) }
  }
  return { heads, next: undefined }
}
