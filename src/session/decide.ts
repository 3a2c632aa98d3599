import { approvalOutdated, requestInvalid } from '../base/errors.ts'
import { type AboutEffect, type Approval, approvalDigest, approvalOf, describeApproval } from './approval.ts'
import { type Decision, type Effect, type Fact } from './model.ts'
import { type Session } from './session.ts'

/** A person's answer to an approval. */
export interface PersonsAnswer {
  readonly by: string
  readonly decision: Decision
  readonly reason?: string | undefined
  /** In place of the command that was shown. */
  readonly command?: string | undefined
  /** Of what was shown to the person; without it, the answer is to what was said when it was asked for. */
  readonly digest?: string | undefined
}

/** What a person has answered. */
export interface Decided extends Omit<PersonsAnswer, 'digest'> {
  /** In ms since 1970. */
  readonly at: number
}

/** What a person was asked some time ago. */
export interface PastApproval {
  readonly effect: Effect
  /** As it was shown then. */
  readonly asked: Approval
  /** `undefined` where the session ended before anybody answered. */
  readonly decided: Decided | undefined
}

/** What becomes of an answer: it counts, or the person is asked anew, because what was shown is not what would happen now. */
export type AnswerFact = Extract<Fact, { readonly kind: 'decided' | 'took' }>

/**
 * The fact that an answer makes of an effect that is held; `undefined` for one that is not.
 * @throws APPROVAL_OUTDATED when the person was shown something else; REQUEST_INVALID for a command in place of a tool
 */
export function decisionOn (
  session: Session,
  effect: string,
  { by, decision, reason, command, digest }: PersonsAnswer,
  aboutOf: AboutEffect
): AnswerFact | undefined {
  const open = session.open.get(effect)
  if (open?.phase !== 'held') return undefined
  const waiting = approvalOf(session, open, aboutOf)
  const asked = session.asked.get(effect)?.digest
  const isSeen = decision === 'approve' || digest !== undefined
  if (isSeen && (digest ?? asked) !== waiting.digest) {
    // The operator has another file by now: all who follow are told what would happen under it.
    if (asked !== waiting.digest) return { kind: 'took', repeats: [effect] }
    throw approvalOutdated(session.id, describeApproval(waiting))
  }
  const why = reason === undefined ? {} : { reason }
  if (decision === 'reject') return { kind: 'decided', effect, by, decision, ...why }
  if (command === undefined || command === commandOf(open.effect)) return { kind: 'decided', effect, by, decision, digest: waiting.digest, ...why }
  if (open.effect.kind !== 'exec') throw requestInvalid('command: expected none: only a command can be replaced by another', { part: 'body' })
  const edited = { ...open.effect, command }
  return { kind: 'decided', effect, by, decision, digest: approvalDigest(session.id, edited, aboutOf(session, edited)), command, ...why }
}

/** Whether an answer is the one that has been given: a request that is sent again, a second click. */
export function isSameAnswer (answer: PersonsAnswer, asked: Effect, decided: Decided): boolean {
  const proposed = commandOf(asked)
  return decided.by === answer.by && decided.decision === answer.decision && (decided.command ?? proposed) === (answer.command ?? proposed)
}

function commandOf (effect: Effect): string | undefined {
  return effect.kind === 'exec' ? effect.command : undefined
}
