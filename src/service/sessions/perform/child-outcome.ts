import { type Json, type JsonObject } from '../../../base/json.ts'
import { AGENT } from '../../../engine/agent/agent-state.ts'
import { LOOP } from '../../../engine/loop/loop-state.ts'
import { PLAN } from '../../../engine/plan/plan-key.ts'
import { SKILL } from '../../../engine/skill/skill-state.ts'
import { isOf, resultOf, startedAs } from '../../../session/engine.ts'
import { type Status } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type Session } from '../../../session/session.ts'
import { clipped } from './clipped.ts'

/** The outcome of a child session (one that another session started) for its parent, with the steps and tokens that the child has used. */
export function outcomeOfChild (child: Session): Outcome {
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

/** The result of a completed child session: the answer of an agent, the last text of a skill, or the changes of a plan. */
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
  if (isOf(engine, LOOP)) return inWords(resultOf(child, LOOP).error)
  if (isOf(engine, AGENT)) return inWords(resultOf(child, AGENT).error)
  if (isOf(engine, SKILL)) return resultOf(child, SKILL).text
  if (!isOf(engine, PLAN)) return ''
  const { error_code: code = '', error = '', applied } = resultOf(child, PLAN)
  const left = applied.length === 0 ? '' : `; what it has changed is there: ${applied.slice(0, 20).map(({ path }) => path).join(', ')}`
  return code === '' ? '' : `${code}: ${error}${left}`
}

function inWords (error: { readonly code: string, readonly message: string } | null): string {
  return error === null ? '' : `${error.code}: ${error.message}`
}
