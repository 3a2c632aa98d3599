import { digestOf } from './digest.ts'
import { type Effect } from './model.ts'
import { type OpenEffect, type Session } from './session.ts'

/** May an effect be begun? `owe` leaves it to whoever drives the session. */
export type Verdict =
  | { readonly answer: 'allow' }
  | { readonly answer: 'ask', readonly rule: string }
  | { readonly answer: 'deny', readonly by: 'policy' | 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** Decides about each effect in turn. @param session with all effects that were decided before */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** Of equal calls of a tool since the user spoke last, a person is asked about this one and those after it. */
const REPEATED_CALLS = 3

/** The rules of a session, as it started: its budget, and the calls for which people are asked. */
export const gate: Gate = ({ start: { budget, ask }, used }, { effect, isApproved, by }) => {
  if (effect.kind === 'wait') return { answer: 'allow' }
  if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
  if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
  // What was begun before was allowed then, and is repeated by a replica that took the session.
  return isApproved === true || by !== undefined ? { answer: 'allow' } : verdictOf(effect, ask, used.calls)
}

/** Begins nothing: for a replica that adds a fact to a session that another one drives. */
export const owingGate: Gate = (_session, { effect }) => effect.kind === 'wait' ? { answer: 'allow' } : { answer: 'owe' }

function verdictOf (effect: Effect, ask: readonly string[], calls: ReadonlyMap<string, number>): Verdict {
  if (effect.kind !== 'tool') return { answer: 'allow' }
  if (ask.includes(effect.tool)) return { answer: 'ask', rule: `calls of ${effect.tool} are approved one by one` }
  if ((calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS) return { answer: 'ask', rule: `the same call of ${effect.tool} for the third time since the user spoke` }
  return { answer: 'allow' }
}
