import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { describeApproval } from '../../session/approvals.ts'
import { type ChildEffect, ENDED, type Head } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { readShown } from '../../session/session-log.ts'
import { childId, openChildrenIn, type Session } from '../../session/session.ts'
import type { ListQuery, SessionStore } from '../../session/store/session-store.ts'

export interface Below {
  readonly waitsFor?: 'approval' | 'input'
  readonly childrenWaiting?: number
}

export interface SessionBranch {
  readonly head: Head & Below
  readonly children: readonly SessionBranch[]
}

/** In one query, and in a tree, which can be large. */
const [AT_ONCE, MOST] = [500, 5000]

/** It waits for child sessions alone, each of which waits for a person, itself or through its own children. */
export async function waitsForPeople (session: Session, load: (id: string) => Promise<Session | undefined>): Promise<boolean> {
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

async function below (store: Pick<SessionStore, 'head'>, { children = [] }: Pick<Head, 'children'>): Promise<Below> {
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

export async function withBelow (store: Pick<SessionStore, 'head'>, heads: readonly Head[]): Promise<Array<Head & Below>> {
  return await Promise.all(heads.map(async head => ({ ...head, ...await below(store, head) })))
}

export async function childrenOf (store: SessionStore, { id, start: { parent } }: Pick<Session, 'id' | 'start'>): Promise<Array<Head & Below>> {
  return await withBelow(store, await headsBelow(store, parent?.root ?? id, id))
}

export async function openBelow (store: SessionStore, session: Pick<Session, 'id' | 'open'>): Promise<Array<Head & Below>> {
  const heads = await Promise.all(openChildrenIn(session).map(({ effect }) => store.head(childId(session.id, effect.id))))
  return await withBelow(store, heads.filter(head => head !== undefined && !ENDED.has(head.status)) as Head[])
}

export async function treeOf (store: SessionStore, head: Head): Promise<SessionBranch> {
  const all = await withBelow(store, [head, ...await headsBelow(store, head.root ?? head.id)])
  const grow = (top: Head & Below): SessionBranch => ({ head: top, children: all.filter(({ parent }) => parent === top.id).map(grow) })
  return grow(all[0] as Head & Below)
}

async function headsBelow (store: SessionStore, root: string, parent?: string): Promise<Head[]> {
  return (await allHeads(store, { root, parent }, MOST)).reverse()
}

/** The newest first; after `most`, no further query is made. */
export async function allHeads (store: SessionStore, query: Omit<ListQuery, 'limit' | 'cursor'>, most = Infinity): Promise<Head[]> {
  const heads: Head[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...query, limit: AT_ONCE, cursor })
    heads.push(...page.heads)
    cursor = page.next
  } while (cursor !== undefined && heads.length < most)
  return heads
}

/** In UTF-16 units of JSON; clients get the rest from the child session itself. */
const MAX_SHOWN = 32 * 1024

/** Log entries, at the end of the log. */
const LAST = 5

interface SessionReaders {
  readonly store: SessionStore
  readonly runner: Pick<SessionRunner, 'load' | 'approvals'>
}

export async function tellOfChild (opened: SessionReaders, child: Session, { id: effect, name }: Pick<ChildEffect, 'id' | 'name'>): Promise<JsonObject> {
  const { id, start: { definition, parent }, status } = child
  const ask = await askOf(opened, child)
  const path = [...(parent?.line ?? []).map(each => each.definition), definition]
  return { type: 'child', session: id, effect, name, definition, status, path, ...(ask === undefined ? {} : { ask }) }
}

/** A client that begins to follow gets these first, as it has missed the earlier ones. */
export async function tellOfWaiting (opened: SessionReaders, session: Session): Promise<JsonObject[]> {
  const told = await Promise.all(openChildrenIn(session).map(async ({ effect }) => {
    const child = await opened.runner.load(childId(session.id, effect.id))
    if (child === undefined || ENDED.has(child.status)) return []
    const own = await tellOfChild(opened, child, effect)
    return [...own['ask'] === undefined ? [] : [own], ...await tellOfWaiting(opened, child)]
  }))
  return told.flat()
}

async function askOf ({ store, runner }: SessionReaders, child: Session): Promise<JsonObject | undefined> {
  let shown = 0
  const approvals = runner.approvals(child).map(describeApproval).map(({ effect, ...approval }): JsonObject => {
    shown += stringifyJson(effect).length
    return { ...approval, ...(shown > MAX_SHOWN ? {} : { effect }) }
  })
  if (approvals.length > 0) return { approvals }
  if (child.status !== 'waiting_input') return undefined
  // The number of the log entry tells two questions with the same text apart.
  return { word: child.engine.view.stateName, text: (await lastSaid(store, child)).slice(0, MAX_SHOWN), seq: child.seq }
}

async function lastSaid (store: SessionStore, { id, seq }: Session): Promise<string> {
  let said = ''
  for await (const { notices } of readShown(store, id, Math.max(0, seq - LAST))) {
    const texts = notices
      .filter(({ type }) => type === 'ask' || type === 'stdout' || type === 'message')
      .flatMap(({ data: { text } }) => typeof text === 'string' ? [text] : [])
    if (texts.length > 0) said = texts.join('\n')
  }
  return said
}
