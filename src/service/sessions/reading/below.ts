import { childId, openChildrenIn } from '../../../session/child.ts'
import { ENDED, type Head } from '../../../session/model.ts'
import { type Session } from '../../../session/session.ts'
import { type SessionStore } from '../../../session/session-store.ts'

/** Gives a session by its id; `undefined` for one that nobody has begun yet. */
export type LoadSession = (id: string) => Promise<Session | undefined>

/** What people are waited for below a session. */
export interface Below {
  /** What the first of them waits for. */
  readonly waitsFor?: 'approval' | 'input'
  /** How many sessions below wait for a person. */
  readonly childrenWaiting?: number
}

/** A session with all that it has started. */
export interface Tree {
  readonly head: Head & Below
  readonly children: readonly Tree[]
}

/** How many sessions of a tree are read at a time, and in all. */
const [AT_ONCE, MOST] = [500, 5000]

/** Whether a session that runs would go on only when a person has answered one below it. */
export async function waitsForPeople (session: Session, load: LoadSession): Promise<boolean> {
  const active = [...session.open.values()].filter(({ phase }) => phase === 'begun').filter(({ effect }) => effect.kind !== 'wait')
  const children = openChildrenIn(session)
  if (children.length === 0 || children.length < active.length) return false
  const waiting = await Promise.all(children.map(async ({ effect }) => {
    const child = await load(childId(session.id, effect.id))
    if (child === undefined || ENDED.has(child.status)) return false
    return child.status !== 'running' || await waitsForPeople(child, load)
  }))
  return waiting.every(Boolean)
}

/** What is waited for below a session, by the heads alone. */
export async function below (store: Pick<SessionStore, 'head'>, { children = [] }: Pick<Head, 'children'>): Promise<Below> {
  const found = await Promise.all(children.map(async id => {
    const head = await store.head(id)
    if (head === undefined || ENDED.has(head.status)) return []
    const own = head.isAsking ? 'approval' : head.status === 'waiting_input' ? 'input' : undefined
    const { waitsFor = own, childrenWaiting = 0 } = await below(store, head)
    const count = childrenWaiting + (own === undefined ? 0 : 1)
    return count === 0 || waitsFor === undefined ? [] : [{ waitsFor: own ?? waitsFor, count }]
  }))
  const [first, ...others] = found.flat()
  return first === undefined ? {} : { waitsFor: first.waitsFor, childrenWaiting: others.reduce((sum, { count }) => sum + count, first.count) }
}

/** The heads of sessions, with what is waited for below each. */
export async function withBelow (store: Pick<SessionStore, 'head'>, heads: readonly Head[]): Promise<Array<Head & Below>> {
  return await Promise.all(heads.map(async head => ({ ...head, ...await below(store, head) })))
}

/** The children of a session, the first that was begun first. */
export async function childrenOf (store: SessionStore, { id, start: { parent } }: Pick<Session, 'id' | 'start'>): Promise<Array<Head & Below>> {
  return await withBelow(store, await headsBelow(store, parent?.root ?? id, id))
}

/** The children of a session that have not ended. */
export async function openBelow (store: SessionStore, session: Pick<Session, 'id' | 'open'>): Promise<Array<Head & Below>> {
  const heads = await Promise.all(openChildrenIn(session).map(({ effect }) => store.head(childId(session.id, effect.id))))
  return await withBelow(store, heads.filter(head => head !== undefined && !ENDED.has(head.status)) as Head[])
}

/** A session, and what is below it. */
export async function treeOf (store: SessionStore, head: Head): Promise<Tree> {
  const all = await withBelow(store, [head, ...await headsBelow(store, head.root ?? head.id)])
  const grow = (top: Head & Below): Tree => ({ head: top, children: all.filter(({ parent }) => parent === top.id).map(grow) })
  return grow(all[0] as Head & Below)
}

/** The oldest first. */
async function headsBelow (store: SessionStore, root: string, parent?: string): Promise<Head[]> {
  const heads: Head[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ root, limit: AT_ONCE, ...(parent === undefined ? {} : { parent }), ...(cursor === undefined ? {} : { cursor }) })
    heads.push(...page.heads)
    cursor = page.next
  } while (cursor !== undefined && heads.length < MOST)
  return heads.reverse()
}
