import { type Head } from '../../model.ts'
import { type ListQuery } from '../../session-store.ts'

/** A session's place in a list of sessions. Lists are sorted by the time at which sessions began, and then by id. */
export type Place = Pick<Head, 'createdAt' | 'id'>

/** Compares two sessions for sorting: the newest first, and within one millisecond the greater id first. */
export function compareNewest (a: Place, b: Place): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

/** Makes the cursor (a text that a client sends to get the next page) for the page that begins after this session. */
export function cursorOf ({ createdAt, id }: Place): string {
  return `${createdAt}-${id}`
}

/**
 * Gives the place of the session that a cursor (from the page before) names; `undefined` for no cursor.
 * @throws RangeError when no page can have given this cursor
 */
export function parseCursor (cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined
  const [, createdAt, id] = /^(\d{1,15})-([0-9a-f]{32})$/.exec(cursor) ?? []
  if (createdAt === undefined || id === undefined) throw new RangeError('the cursor is not one that a page of sessions has given as "next"')
  return { createdAt: Number(createdAt), id }
}

/** Whether a session matches the query of a list. */
export function isWanted (head: Head, { owner, statuses, isAsking, definition, root, parent, withChildren }: ListQuery): boolean {
  return (root === undefined ? head.root === undefined || withChildren === true : head.root === root) &&
    (parent === undefined || head.parent === parent) &&
    (isAsking === undefined || head.isAsking) &&
    (owner === undefined || head.owner === owner) &&
    (statuses === undefined || statuses.includes(head.status)) &&
    (definition === undefined || head.definition === definition)
}
