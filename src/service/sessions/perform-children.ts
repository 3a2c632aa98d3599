import { ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { AGENT, LOOP } from '../../engine/dialogue-state.ts'
import { PLAN } from '../../engine/plan/plan-state.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import type { Outcome } from '../../session/effects.ts'
import { isOf, resultOf, startedAs } from '../../session/engine.ts'
import { followSession } from '../../session/follow.ts'
import { type ChildEffect, ENDED, type Start, type Status } from '../../session/model.ts'
import type { SessionRunner } from '../../session/runner.ts'
import { childId, type Session } from '../../session/session.ts'
import { retryUntilClosed, type SessionStore } from '../../session/store/session-store.ts'
import { clipped, type Perform, type Performing } from './performer.ts'
import { tellOfChild } from './session-tree.ts'

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

/** With the steps and tokens that the child has used. */
function outcomeOfChild (child: Session): Outcome {
  const { status, used: { steps, tokens }, start: { definition } } = child
  const spent = { steps, tokens }
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
