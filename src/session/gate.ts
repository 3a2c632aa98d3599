import { type JsonObject } from '../base/json.ts'
import { type AboutEffect, approvalDigest } from './approval.ts'
import { COMMITS_ARE_ASKED, judgeCommand, type Judgement, stricter } from './command-rules.ts'
import { addSpent, depthOf, leftOf, MAX_DEPTH, reservationFor, reservedIn, waitsForRoom } from './child.ts'
import { digestOf, rowOf } from './effects.ts'
import { type ChildEffect, type CommandPolicy, type CommitEffect, type Effect, type ExecEffect } from './model.ts'
import { MAX_LOG_BYTES, type OpenEffect, type Session, type Used } from './session.ts'

/** The gate's decision on whether an effect may be begun. `owe` begins nothing yet: the effect stays owed. */
export type Verdict =
  | Exclude<Judgement, { readonly answer: 'ask' }>
  | { readonly answer: 'ask', readonly rule: string, readonly about: JsonObject }
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** A gate decides whether an effect may be begun. @param session with all effects that were decided before this one */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** The circumstances of the service as they are now, which may have changed since a session started. */
export interface Circumstances {
  /** The operator's rules for a command; `undefined` where there is no operator. */
  readonly commands: (effect: ExecEffect) => CommandPolicy | undefined
  /** The operator's rules, applied to a commit; `undefined` where there is no operator. */
  readonly commits: (effect: CommitEffect) => Judgement | undefined
  readonly about: AboutEffect
}

/** Circumstances without an operator: the rules that a session started with decide alone. */
export const NO_CIRCUMSTANCES: Circumstances = { commands: () => undefined, commits: () => undefined, about: () => ({}) }

/** The number from which on equal calls or commands since the user's last input need an approval: the third and all later ones. */
const REPEATED_CALLS = 3

/** The rule for a call that equals an interrupted one: to repeat it may do the same thing twice. */
const DOUBTFUL = 'the same call was interrupted before, and may have been done'

/**
 * Creates the gate with the rules of sessions: the budget, the calls that need an approval, and the operator's rules for
 * commands. Of the rules at the session's start and the rules of now, the stricter count.
 */
export function createGate (circumstances: Circumstances): Gate {
  const { about: aboutOf } = circumstances
  return (session, open) => {
    const { effect, approved, by } = open
    const { start: { budget }, bytes } = session
    // A child that was begun may run: whatever is left, its parent follows it.
    if (effect.kind === 'wait' || (effect.kind === 'child' && by !== undefined)) return { answer: 'allow' }
    if (waitsForRoom(session, open)) return { answer: 'owe' }
    const used = addSpent(session.used, reservedIn(session, effect.id))
    if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
    if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
    if (bytes >= MAX_LOG_BYTES) return { answer: 'deny', by: 'budget', reason: `the log of the session has its ${MAX_LOG_BYTES} bytes` }
    const verdict = (effect.kind === 'child' ? refuseChild(session, effect) : undefined) ?? judge(session, effect, circumstances)
    // What was begun before was allowed then, and is repeated by a replica that took the session.
    if (verdict.answer !== 'ask') return verdict
    if (by !== undefined) return { answer: 'allow' }
    // A person may allow what is asked for, and not what is denied. What he has allowed is what he was shown: it may go by
    // another host, or begin in another folder, by now.
    const about = aboutOf(session, effect)
    return approved === approvalDigest(session.id, effect, about) ? { answer: 'allow' } : { ...verdict, about }
  }
}

/** The gate for a service without an operator. */
export const gate = createGate(NO_CIRCUMSTANCES)

/** A gate that begins no effect: for a replica that adds a fact to a session which another replica drives. */
export const owingGate: Gate = (_session, { effect }) => effect.kind === 'wait' ? { answer: 'allow' } : { answer: 'owe' }

function judge ({ start, used, doubtful, engine }: Session, effect: Effect, { commands, commits }: Circumstances): Judgement {
  switch (effect.kind) {
    case 'tool':
      if (start.ask.includes(effect.tool)) return { answer: 'ask', rule: `calls of ${effect.tool} are approved one by one` }
      if (doubtful.has(digestOf(effect))) return { answer: 'ask', rule: DOUBTFUL }
      return isRepeated(effect, used) ? { answer: 'ask', rule: `the same call of ${effect.tool} for the third time since the user spoke` } : { answer: 'allow' }
    case 'exec': {
      const now = commands(effect)
      const began = judgeCommand(effect, start.commands)
      const verdict = now === undefined ? began : stricter(began, judgeCommand(effect, now))
      if (verdict.answer === 'allow' && doubtful.has(digestOf(effect))) return { answer: 'ask', rule: DOUBTFUL }
      return verdict.answer === 'allow' && isRepeated(effect, used)
        ? { answer: 'ask', rule: 'the same command for the third time since the user spoke' }
        : verdict
    }
    case 'apply':
    case 'check':
      if (engine.view.mayWrite !== true) return { answer: 'deny', by: 'policy', reason: 'nothing is written while a plan is made' }
      return judgeByRow(effect)
    case 'commit':
      if (engine.view.mayWrite !== true) return { answer: 'deny', by: 'policy', reason: 'nothing is committed while a plan is made' }
      return commits(effect) ?? { answer: 'ask', rule: COMMITS_ARE_ASKED }
    case 'child':
      return start.ask.includes(effect.definition) ? { answer: 'ask', rule: `calls of ${effect.definition} are approved one by one` } : { answer: 'allow' }
    default:
      return judgeByRow(effect)
  }
}

/** The denial of a child session that is nested too deeply, or for which too little of the budget is left; `undefined` when it may start. */
function refuseChild (session: Session, effect: ChildEffect): Extract<Verdict, { answer: 'deny' }> | undefined {
  if (depthOf(session.start) >= MAX_DEPTH) {
    return { answer: 'deny', by: 'policy', reason: `${MAX_DEPTH} sessions are above this one, and it starts no further one` }
  }
  if (reservationFor(session, effect) !== undefined) return undefined
  const { steps, tokens } = leftOf(session)
  return { answer: 'deny', by: 'budget', reason: `too little of the budget is left: ${steps} steps and ${tokens} tokens` }
}

/** The judgement by the effect table alone, which is the same in every session. */
function judgeByRow (effect: Effect): Judgement {
  const rule = rowOf(effect).asks?.(effect)
  return rule === undefined ? { answer: 'allow' } : { answer: 'ask', rule }
}

function isRepeated (effect: Effect, { calls }: Used): boolean {
  return (calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS
}
