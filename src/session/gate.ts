import { type JsonObject } from '../base/json.ts'
import { type AboutEffect, approvalDigest } from './approval.ts'
import { COMMITS_ARE_ASKED, judgeCommand, type Judgement, stricter } from './command-rules.ts'
import { addSpent, depthOf, leftOf, MAX_DEPTH, reservationFor, reservedIn, waitsForRoom } from './child.ts'
import { digestOf, rowOf } from './effects.ts'
import { type ChildEffect, type CommandPolicy, type CommitEffect, type Effect, type ExecEffect } from './model.ts'
import { MAX_LOG_BYTES, type OpenEffect, type Session, type Used } from './session.ts'

/** May an effect be begun? `owe` leaves it to whoever drives the session. */
export type Verdict =
  | Exclude<Judgement, { readonly answer: 'ask' }>
  | { readonly answer: 'ask', readonly rule: string, readonly about: JsonObject }
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/** Decides about each effect in turn. @param session with all effects that were decided before */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** What the world around sessions is like now, whatever it was when they started. */
export interface Circumstances {
  /** The operator's rules for a command; `undefined` where there is no operator. */
  readonly commands: (effect: ExecEffect) => CommandPolicy | undefined
  /** What the operator says of a commit; `undefined` where there is no operator. */
  readonly commits: (effect: CommitEffect) => Judgement | undefined
  readonly about: AboutEffect
}

/** Nothing is known of the world: what a session started with decides. */
export const NO_CIRCUMSTANCES: Circumstances = { commands: () => undefined, commits: () => undefined, about: () => ({}) }

/** Of equal calls and commands since the user spoke last, a person is asked about this one and those after it. */
const REPEATED_CALLS = 3

/** A model that repeats what was interrupted may do it twice, whatever it was told. */
const DOUBTFUL = 'the same call was interrupted before, and may have been done'

/**
 * The rules of a session: its budget, the calls for which people are asked, and of commands what the operator says, as it
 * started and now; the stricter of both counts.
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

/** The gate where nothing is known of the world around. */
export const gate = createGate(NO_CIRCUMSTANCES)

/** Begins nothing: for a replica that adds a fact to a session that another one drives. */
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

/** Why a session starts no child now: sessions within sessions have an end, and none takes the budget of the others. */
function refuseChild (session: Session, effect: ChildEffect): Extract<Verdict, { answer: 'deny' }> | undefined {
  if (depthOf(session.start) >= MAX_DEPTH) {
    return { answer: 'deny', by: 'policy', reason: `${MAX_DEPTH} sessions are above this one, and it starts no further one` }
  }
  if (reservationFor(session, effect) !== undefined) return undefined
  const { steps, tokens } = leftOf(session)
  return { answer: 'deny', by: 'budget', reason: `too little of the budget is left: ${steps} steps and ${tokens} tokens` }
}

/** What the row of an effect says, whatever the session. */
function judgeByRow (effect: Effect): Judgement {
  const rule = rowOf(effect).asks?.(effect)
  return rule === undefined ? { answer: 'allow' } : { answer: 'ask', rule }
}

function isRepeated (effect: Effect, { calls }: Used): boolean {
  return (calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS
}
