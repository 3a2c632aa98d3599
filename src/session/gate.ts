import { judgeCommand, type Judgement } from './command-rules.ts'
import { digestOf } from './digest.ts'
import { type Effect } from './model.ts'
import { MAX_LOG_BYTES, type OpenEffect, type Session, type Used } from './session.ts'

/** May an effect be begun? `owe` leaves it to whoever drives the session. */
export type Verdict = Judgement
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** Decides about each effect in turn. @param session with all effects that were decided before */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** Of equal calls and commands since the user spoke last, a person is asked about this one and those after it. */
const REPEATED_CALLS = 3

/** The rules of a session, as it started: its budget, and the calls for which people are asked. */
export const gate: Gate = (session, { effect, isApproved, by }) => {
  const { start: { budget }, used, bytes } = session
  if (effect.kind === 'wait') return { answer: 'allow' }
  if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
  if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
  if (bytes >= MAX_LOG_BYTES) return { answer: 'deny', by: 'budget', reason: `the log of the session has its ${MAX_LOG_BYTES} bytes` }
  const verdict = verdictOf(session, effect)
  // What was begun before was allowed then, and is repeated by a replica that took the session. A person may allow what is
  // asked for, and not what is denied: the command may be one that the person has edited.
  return verdict.answer === 'ask' && (isApproved === true || by !== undefined) ? { answer: 'allow' } : verdict
}

/** Begins nothing: for a replica that adds a fact to a session that another one drives. */
export const owingGate: Gate = (_session, { effect }) => effect.kind === 'wait' ? { answer: 'allow' } : { answer: 'owe' }

function verdictOf ({ start, used, engine }: Session, effect: Effect): Verdict {
  switch (effect.kind) {
    case 'tool':
      if (start.ask.includes(effect.tool)) return { answer: 'ask', rule: `calls of ${effect.tool} are approved one by one` }
      return isRepeated(effect, used) ? { answer: 'ask', rule: `the same call of ${effect.tool} for the third time since the user spoke` } : { answer: 'allow' }
    case 'exec': {
      const verdict = judgeCommand(effect, start.commands)
      return verdict.answer === 'allow' && isRepeated(effect, used) ? { answer: 'ask', rule: 'the same command for the third time since the user spoke' } : verdict
    }
    case 'apply':
    case 'check':
      if (engine.view.mayWrite !== true) return { answer: 'deny', by: 'policy', reason: 'nothing is written while a plan is made' }
      return effect.kind === 'apply' && effect.deletes ? { answer: 'ask', rule: 'deletions are approved one by one' } : { answer: 'allow' }
    default:
      return { answer: 'allow' }
  }
}

function isRepeated (effect: Effect, { calls }: Used): boolean {
  return (calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS
}
