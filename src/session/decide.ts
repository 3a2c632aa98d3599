import { approvalOutdated, requestInvalid } from '../base/errors.ts'
import { type AboutEffect, type Approval, approvalDigest, approvalOf, describeApproval } from './approval.ts'
import { type Decision, type Effect, type Fact } from './model.ts'
import { type Session } from './session.ts'

/** A person's answer to an approval (the question whether an effect may be performed). */
export interface PersonsAnswer {
  readonly by: string
  readonly decision: Decision
  readonly reason?: string | undefined
  /** The command that the person wants instead of the one that was shown. */
  readonly command?: string | undefined
  /**
   * The digest of the approval as the person saw it, which proves that the answer is about the present content.
   * @default the digest at the time of the question
   */
  readonly digest?: string | undefined
}

/** A person's answer to an approval, as it was written to the session's log. */
export interface Decided extends Omit<PersonsAnswer, 'digest'> {
  /** When the answer was written, in ms since 1970. */
  readonly at: number
}

/** An approval (a question to a person) from a session's log, answered or not. */
export interface PastApproval {
  readonly effect: Effect
  /** The approval as it was shown when the person was asked. */
  readonly asked: Approval
  /** The answer; `undefined` where the session ended before anybody answered. */
  readonly decided: Decided | undefined
}

/**
 * The fact (what happened, for the session's log) that a person's answer leads to. `decided`: the answer counts. `took`: the person is asked
 * again, because the content has changed since the question.
 */
export type AnswerFact = Extract<Fact, { readonly kind: 'decided' | 'took' }>

/**
 * Turns a person's answer about a held effect (one that waits for an approval) into the fact for the session's log; `undefined` when the
 * effect is not held.
 * @throws APPROVAL_OUTDATED when the person was shown another content; REQUEST_INVALID when the answer replaces the command of an effect that
 * is not a command
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
    // The operator's configuration has changed since the question. Asking again tells all followers the current content.
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

/** Whether a person's answer equals the answer that was given already. That is so for a repeated request or a second click, which is no conflict. */
export function isSameAnswer (answer: PersonsAnswer, asked: Effect, decided: Decided): boolean {
  const proposed = commandOf(asked)
  return decided.by === answer.by && decided.decision === answer.decision && (decided.command ?? proposed) === (answer.command ?? proposed)
}

function commandOf (effect: Effect): string | undefined {
  return effect.kind === 'exec' ? effect.command : undefined
}
