import { compareNewest, cursorOf, isWanted, type Place } from '../shared/session-order.ts'
import { type Head } from '../../model.ts'
import { type ListQuery, type SessionPage } from '../../session-store.ts'

/** How many sessions are looked at for one page, where few are what the list asks for. */
const LOOKED_AT = 2000

/** A session of a list; one that has expired has no head. */
export interface Listed extends Place {
  readonly head: Head | undefined
}

/** Merges the lists of all shards, each the newest first, into one page. */
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
