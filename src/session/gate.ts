import { type JsonObject } from '../base/json.ts'
import { type AboutEffect, approvalDigest } from './approval.ts'
import { COMMITS_ARE_ASKED, judgeCommand, type Judgement, stricter } from './command-rules.ts'
import { addSpent, depthOf, leftOf, MAX_DEPTH, reservationFor, reservedIn, waitsForRoom } from './child.ts'
import { digestOf, rowOf } from './effects.ts'
import { type ChildEffect, type CommandPolicy, type CommitEffect, type Effect, type ExecEffect } from './model.ts'
import { MAX_LOG_BYTES, type OpenEffect, type Session, type Used } from './session.ts'

/**
 * The verdict on an effect that an engine asks for (a model call, a command): whether the service is allowed to begin it. `allow`, `deny`, `ask` a person
 * first, or `owe`: the effect stays in the session, and has to be begun later.
 */
export type Verdict =
  | Exclude<Judgement, { readonly answer: 'ask' }>
  | { readonly answer: 'ask', readonly rule: string, readonly about: JsonObject }
  | { readonly answer: 'deny', readonly by: 'budget', readonly reason: string }
  | { readonly answer: 'owe' }

/**
 * A gate decides whether an effect (a model call, a command) may begin.
 * @param session the state of the session, in which the effects that were begun just before this one count as used budget
 */
export type Gate = (session: Session, open: OpenEffect) => Verdict

/** What the operator's configuration says now about commands, commits and other effects. It may have changed since a session started. */
export interface Circumstances {
  /** The operator's rules for a command now; `undefined` where no operator's configuration exists. */
  readonly commands: (effect: ExecEffect) => CommandPolicy | undefined
  /** The judgement of a commit by the operator's rules now; `undefined` where no operator's configuration exists. */
  readonly commits: (effect: CommitEffect) => Judgement | undefined
  readonly about: AboutEffect
}

/** The circumstances for a service that has no operator's configuration now: only the rules that were written at a session's start decide. */
export const NO_CIRCUMSTANCES: Circumstances = { commands: () => undefined, commits: () => undefined, about: () => ({}) }

/**
 * Of equal tool calls or commands since the user's last input, the one with this number and each later one need a person's approval. This stops
 * a model that repeats itself.
 */
const REPEATED_CALLS = 3

/**
 * The rule, as a person reads it, for a call that equals an interrupted call. Nobody knows whether the interrupted call was done, so a repeat
 * may do the same thing twice.
 */
const DOUBTFUL = 'the same call was interrupted before, and may have been done'

/**
 * Creates a gate, which decides whether an effect can begin: by the session's budget, by its list of tools whose calls need an approval, and by the
 * operator's rules for commands. The rules at the session's start and the present rules both count, and the stricter one wins.
 */
export function createGate (circumstances: Circumstances): Gate {
  const { about: aboutOf } = circumstances
  return (session, open) => {
    const { effect, approved, by } = open
    const { start: { budget }, bytes } = session
    // A child session that was begun before may go on, whatever is left of the budget: the effect only waits for the child's end again.
    if (effect.kind === 'wait' || (effect.kind === 'child' && by !== undefined)) return { answer: 'allow' }
    if (waitsForRoom(session, open)) return { answer: 'owe' }
    const used = addSpent(session.used, reservedIn(session, effect.id))
    if (used.steps >= budget.steps) return { answer: 'deny', by: 'budget', reason: `the session has made its ${budget.steps} calls` }
    if (used.tokens >= budget.tokens) return { answer: 'deny', by: 'budget', reason: `the session has used its ${budget.tokens} tokens` }
    if (bytes >= MAX_LOG_BYTES) return { answer: 'deny', by: 'budget', reason: `the log of the session has its ${MAX_LOG_BYTES} bytes` }
    const verdict = (effect.kind === 'child' ? refuseChild(session, effect) : undefined) ?? judge(session, effect, circumstances)
    // An effect that has begun before was allowed then. A replica that took the session over begins it again without another question.
    if (verdict.answer !== 'ask') return verdict
    if (by !== undefined) return { answer: 'allow' }
    // A person can approve what the rules ask for, not what they deny. The approval is valid only for the content that the person was shown:
    // if the command would by now go to another host, or begin in another folder, the person is asked again.
    const about = aboutOf(session, effect)
    return approved === approvalDigest(session.id, effect, about) ? { answer: 'allow' } : { ...verdict, about }
  }
}

/** The gate for a service without an operator's configuration. A gate decides whether an effect, such as a command, may begin. */
export const gate = createGate(NO_CIRCUMSTANCES)

/**
 * A gate that lets no effect begin, except a wait for the user. A replica uses it to add a fact to a session that another replica drives: the other
 * replica begins the effects.
 */
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

/** The denial of a child session that is nested too deeply, or for which too little of the budget is left; `undefined` when the child may start. */
function refuseChild (session: Session, effect: ChildEffect): Extract<Verdict, { answer: 'deny' }> | undefined {
  if (depthOf(session.start) >= MAX_DEPTH) {
    return { answer: 'deny', by: 'policy', reason: `${MAX_DEPTH} sessions are above this one, and it starts no further one` }
  }
  if (reservationFor(session, effect) !== undefined) return undefined
  const { steps, tokens } = leftOf(session)
  return { answer: 'deny', by: 'budget', reason: `too little of the budget is left: ${steps} steps and ${tokens} tokens` }
}

/** Judges an effect by its row in the table `EFFECTS` alone: it needs an approval where the row's `asks` gives a rule. */
function judgeByRow (effect: Effect): Judgement {
  const rule = rowOf(effect).asks?.(effect)
  return rule === undefined ? { answer: 'allow' } : { answer: 'ask', rule }
}

function isRepeated (effect: Effect, { calls }: Used): boolean {
  return (calls.get(digestOf(effect)) ?? 0) + 1 >= REPEATED_CALLS
}
