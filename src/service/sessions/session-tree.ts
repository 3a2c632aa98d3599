import { ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { AGENT, LOOP } from '../../engine/dialogue-state.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { describeApproval } from '../../session/approvals.ts'
import type { Outcome } from '../../session/effects.ts'
import { isOf, resultOf, startedAs } from '../../session/engine.ts'
import { followSession } from '../../session/follow.ts'
import { type ChildEffect, ENDED, type Head, type Start, type Status } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { readShown } from '../../session/session-log.ts'
import { childId, openChildrenIn, type Session } from '../../session/session.ts'
import { type ListQuery, retryUntilClosed, type SessionStore } from '../../session/store/session-store.ts'
import { clipped, type Perform, type Performing } from './performer.ts'

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

async function tellOfChild (opened: SessionReaders, child: Session, { id: effect, name }: Pick<ChildEffect, 'id' | 'name'>): Promise<JsonObject> {
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

/**
 * A child's id comes from its parent's and the effect's: a process that performs it again waits for the child that is there.
 * @param startOf throws a ServiceError with the reason why the child cannot start
 * @param use opens the store of sessions if it is not open yet
 */
export function followChildren (
  startOf: (performing: Performing<ChildEffect>, id: string) => Promise<Start>,
  use: <T>(work: (opened: { readonly store: SessionStore, readonly runner: SessionRunner }) => Promise<T>) => Promise<T>
): Perform<ChildEffect> {
  // Tried again while the store cannot be reached: an outage must not make the child fail.
  return async performing => await use(async opened => await retryUntilClosed(performing.signal, async () => {
    const { session, effect, signal, publish } = performing
    const { store, runner } = opened
    const id = childId(session.id, effect.id)
    let child = await runner.load(id)
    if (child === undefined) {
      const start = await startOf(performing, id).catch((error: unknown) => {
        if (error instanceof ServiceError) return error
        throw error
      })
      if (start instanceof ServiceError) return { kind: 'failure', code: start.code, message: start.message }
      child = await runner.start(id, start)
    }
    let told = ''
    const tell = async (now: Session): Promise<void> => {
      if (ENDED.has(now.status)) return
      const words = await tellOfChild(opened, now, effect)
      // The first state is told only if the child waits for a person.
      const isNews = told === '' ? words['ask'] !== undefined : told !== stringifyJson(words)
      told = stringifyJson(words)
      if (isNews) publish(words)
    }
    await tell(child)
    for await (const each of followSession(store, id, child.seq, signal)) {
      if ('live' in each) {
        // Passed on, so that it reaches the followers of all sessions above.
        if (each.live['type'] === 'child') publish(each.live)
      } else if (each.transition.notices.some(({ type }) => type === 'state' || type === 'approval')) {
        child = await runner.load(id) ?? child
        await tell(child)
      }
    }
    const last = await runner.load(id)
    if (last === undefined || !ENDED.has(last.status)) return { kind: 'failure', code: 'CHILD_LEFT', message: 'nobody waits for it here any more' }
    return outcomeOfChild(last)
  }))
}

/** With the steps, tokens and money that the child has used. */
function outcomeOfChild (child: Session): Outcome {
  const { status, used: { calls: _calls, ...spent }, start: { definition } } = child
  if (status === 'completed') return { kind: 'result', result: clipped(resultOfChild(child)), spent }
  return { kind: 'failure', code: CODES[status] ?? 'CHILD_FAILED', message: `${definition} ${wordsFor(child)}`, spent }
}

const CODES: Readonly<Partial<Record<Status, string>>> = { cancelled: 'CHILD_CANCELLED', expired: 'CHILD_EXPIRED' }

function wordsFor (child: Session): string {
  if (child.status === 'cancelled') return 'was cancelled'
  if (child.status === 'expired') return 'has ended: nobody answered it in time'
  const why = whyOf(child)
  return why === '' ? 'has failed' : `has failed: ${why}`
}

function resultOfChild (child: Session): Json {
  const { engine } = child.start
  if (isOf(engine, LOOP)) {
    const { value, answer } = resultOf(child, LOOP)
    return value ?? answer ?? ''
  }
  if (isOf(engine, AGENT)) return resultOf(child, AGENT).answer ?? ''
  if (isOf(engine, SKILL)) return resultOf(child, SKILL).text
  return isOf(engine, PLAN) ? resultOfPlan(child) : null
}

function resultOfPlan (child: Session): JsonObject {
  const { state, summary, applied } = resultOf(child, PLAN)
  const { checks } = startedAs(child.start, PLAN).setting
  const isApplied = applied.length > 0
  return {
    state,
    summary,
    applied: applied.map(each => ({ ...each })),
    // A plan whose check fails does not complete, so all checks of a completed plan have passed.
    checks: isApplied ? checks.map(name => ({ name, passed: true })) : []
  }
}

function whyOf (child: Session): string {
  const { engine } = child.start
  if (isOf(engine, LOOP)) return describeChildError(resultOf(child, LOOP).error)
  if (isOf(engine, AGENT)) return describeChildError(resultOf(child, AGENT).error)
  if (isOf(engine, SKILL)) return resultOf(child, SKILL).text
  if (!isOf(engine, PLAN)) return ''
  const { error_code: code = '', error = '', applied } = resultOf(child, PLAN)
  const left = applied.length === 0 ? '' : `; what it has changed is there: ${applied.slice(0, 20).map(({ path }) => path).join(', ')}`
  return code === '' ? '' : `${code}: ${error}${left}`
}

function describeChildError (error: { readonly code: string, readonly message: string } | null): string {
  return error === null ? '' : `${error.code}: ${error.message}`
}

/** A crash in the middle of a cancel can leave orphans, so this is checked before each action of a child. */
export async function stopOrphan (
  { store, runner }: { readonly store: SessionStore, readonly runner: SessionRunner },
  { id, start: { parent } }: Session,
  signal: AbortSignal
): Promise<boolean> {
  const heads = await retryUntilClosed(signal, () => Promise.all((parent?.line ?? []).map(({ session }) => store.head(session))))
  if (heads.every(head => head !== undefined && !ENDED.has(head.status))) return false
  try {
    await runner.stop(id, 'cancel', 'a session above it has ended')
  } catch (error) {
    // It cannot be stopped yet, as its change of files counts as begun; returning true makes that change fail with nothing written.
    if (!(error instanceof ServiceError)) throw error
  }
  return true
}
