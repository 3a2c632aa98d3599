import type { JsonObject } from '../base/json.ts'
import { type AboutEffect, approvalDigest } from './approvals.ts'
import type { Judgement, OperatorRules } from './command-rules.ts'
import { ALLOW, rowOf } from './effects.ts'
import type { ChildEffect } from './model.ts'
import { addSpent, depthOf, leftOf, MAX_DEPTH, MAX_LOG_BYTES, type OpenEffect, reservationFor, reservedIn, type Session, waitsForRoom } from './session.ts'

/** `owe`: the effect stays in the session, and has to be begun later. */
type Verdict =
  | Exclude<Judgement, { readonly answer: 'ask' }>
  | { readonly answer: 'ask', readonly rule: string, readonly about: JsonObject }
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** In `session`, effects begun just before this one count as used budget. */
export type Gate = (session: Session, open: OpenEffect) => Verdict

export interface PolicyContext extends OperatorRules {
  readonly about: AboutEffect
}

/** Only the rules that a session's log records decide. */
export const NO_POLICY_CONTEXT: PolicyContext = { commands: () => undefined, commits: () => undefined, about: () => ({}) }

/** The rules at the session's start and those of now both count, and the stricter wins. */
export function createGate (circumstances: PolicyContext): Gate {
  const { about: aboutOf } = circumstances
  return (session, open) => {
    const { effect, approved, by } = open
    const { start: { budget }, bytes } = session
    // A child that was begun before may go on, whatever is left: the effect only waits for its end again.
    if (effect.kind === 'wait' || (effect.kind === 'child' && by !== undefined)) return { answer: 'allow' }
    if (waitsForRoom(session, open)) return { answer: 'owe' }
    const used = addSpent(session.used, reservedIn(session, effect.id))
    if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
    if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
    if (bytes >= MAX_LOG_BYTES) return { answer: 'deny', by: 'budget', reason: `the log of the session has its ${MAX_LOG_BYTES} bytes` }
    const verdict = (effect.kind === 'child' ? refuseChild(session, effect) : undefined) ?? rowOf(effect).judge?.(effect, session, circumstances) ?? ALLOW
    // An effect that has begun before was allowed then: a replica that took the session over does not ask again.
    if (verdict.answer !== 'ask') return verdict
    if (by !== undefined) return { answer: 'allow' }
    // An approval holds only for what was shown: if the host or the folder has changed, the person is asked again.
    const about = aboutOf(session, effect)
    return approved === approvalDigest(session.id, effect, about) ? { answer: 'allow' } : { ...verdict, about }
  }
}

export const gate = createGate(NO_POLICY_CONTEXT)

/** For adding a fact to a session that another replica drives: that one begins the effects. */
export const owingGate: Gate = (_session, { effect }) => effect.kind === 'wait' ? { answer: 'allow' } : { answer: 'owe' }

function refuseChild (session: Session, effect: ChildEffect): Extract<Verdict, { answer: 'deny' }> | undefined {
  if (depthOf(session.start) >= MAX_DEPTH) {
    return { answer: 'deny', by: 'policy', reason: `${MAX_DEPTH} sessions are above this one, and it starts no further one` }
  }
  if (reservationFor(session, effect) !== undefined) return undefined
  const { steps, tokens } = leftOf(session)
  return { answer: 'deny', by: 'budget', reason: `too little of the budget is left: ${steps} steps and ${tokens} tokens` }
}
