import { createHash } from 'node:crypto'
import { approvalOutdated, approverRefused, requestInvalid } from '../base/errors.ts'
import { canonicalJson, type JsonObject } from '../base/json.ts'
import { contentOf, rowOf } from './effects.ts'
import type { Decision, Effect, Fact, Held, Notice } from './model.ts'
import { type OpenEffect, openIn, type Session } from './session.ts'

export interface PersonsAnswer {
  readonly by: string
  readonly decision: Decision
  readonly reason?: string | undefined
  readonly command?: string | undefined
  /** Proves that the answer is about the present content. @default the digest at the time of the question */
  readonly digest?: string | undefined
}

export interface RecordedDecision extends Omit<PersonsAnswer, 'digest'> {
  readonly at: number
}

/** `took`: the person is asked again, because the content has changed since the question. */
export type AnswerFact = Extract<Fact, { readonly kind: 'decided' | 'took' }>

/** @throws APPROVAL_OUTDATED, APPROVER_REFUSED; REQUEST_INVALID when the answer replaces the command of an effect that has none */
export function decisionOn (
  session: Session,
  effect: string,
  { by, decision, reason, command, digest }: PersonsAnswer,
  aboutOf: AboutEffect
): AnswerFact | undefined {
  const open = session.open.get(effect)
  if (open?.phase !== 'held') return undefined
  const refused = decision === 'approve' ? rowOf(open.effect).refuses?.(open.effect, by) : undefined
  if (refused !== undefined) throw approverRefused(approvalId(session.id, effect), by, refused)
  const waiting = approvalOf(session, open, aboutOf)
  const asked = session.asked.get(effect)?.digest
  const isSeen = decision === 'approve' || digest !== undefined
  if (isSeen && (digest ?? asked) !== waiting.digest) {
    // The configuration has changed since the question: asking again tells all followers the current content.
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

export function isSameAnswer (answer: PersonsAnswer, asked: Effect, decided: RecordedDecision): boolean {
  const proposed = commandOf(asked)
  return decided.by === answer.by && decided.decision === answer.decision && (decided.command ?? proposed) === (answer.command ?? proposed)
}

function commandOf (effect: Effect): string | undefined {
  return effect.kind === 'exec' ? effect.command : undefined
}

/** An approval is the question to a person whether one effect may be performed, with what the person is shown. */
export interface Approval {
  readonly session: Session
  readonly effect: string
  readonly rule: string
  /** SHA-256 of the shown content and the effect's id, so an equal command at a later step has another digest. */
  readonly digest: string
  readonly content: JsonObject
  readonly askedAt: number
}

export type AboutEffect = (session: Session, effect: Effect) => JsonObject

/** UTF-16 units of the last command's output. Short, because approvers are perhaps not allowed to read the session. */
const MAX_OUTPUT = 2048

/** Such as `9f…:4.0`. */
export function approvalId (session: string, effect: string): string {
  return `${session}:${effect}`
}

export function parseApprovalId (id: string): { readonly session: string, readonly effect: string } | undefined {
  const [, session, effect] = /^([0-9a-f]{32}):(\d{1,9}\.\d{1,9})$/.exec(id) ?? []
  return session === undefined || effect === undefined ? undefined : { session, effect }
}

function askedContent (effect: Effect, about: JsonObject): JsonObject {
  return { ...contentOf(effect), ...about }
}

/** Equal only for the same effect of the same session under the same circumstances. */
export function approvalDigest (session: string, effect: Effect, about: JsonObject): string {
  return createHash('sha256').update(canonicalJson({ session, effect: effect.id, content: askedContent(effect, about) })).digest('hex')
}

export function approvalAsked (session: string, { effect, rule, about }: Held, digest: string, until: number): Notice {
  const id = approvalId(session, effect.id)
  return { type: 'approval', data: { effect: effect.id, id, digest, rule, expiresAt: new Date(until).toISOString(), ...askedContent(effect, about) } }
}

export function approvalDecided (session: string, { effect, by, decision, command, reason }: Extract<Fact, { kind: 'decided' }>): Notice {
  const edited = { ...(command === undefined ? {} : { command }), ...(reason === undefined ? {} : { reason }) }
  return { type: 'approval', data: { effect, id: approvalId(session, effect), decision, by, ...edited } }
}

/** @param aboutOf @default the circumstances at the time of the question */
export function approvalsIn (session: Session, aboutOf?: AboutEffect): readonly Approval[] {
  return openIn(session, 'held').map(open => approvalOf(session, open, aboutOf))
}

export function approvalOf (session: Session, { effect, question }: Pick<OpenEffect, 'effect' | 'question'>, aboutOf?: AboutEffect): Approval {
  const about = aboutOf?.(session, effect) ?? question?.about ?? {}
  return {
    session,
    effect: effect.id,
    rule: question?.rule ?? '',
    digest: approvalDigest(session.id, effect, about),
    content: askedContent(effect, about),
    askedAt: question?.at ?? session.updatedAt
  }
}

/** Finds the effect even if a person has answered already. */
export function effectShownWith ({ asked }: Session, digest: string): string | undefined {
  return [...asked].find(([, shown]) => shown.digest === digest)?.[0]
}

export function describeApproval ({ session, effect, rule, digest, content, askedAt }: Approval) {
  const { id, start: { definition, owner, budget, parent }, updatedAt, engine: { view: { progress } } } = session
  return {
    id: approvalId(id, effect),
    session: id,
    root: parent?.root ?? id,
    path: [...(parent?.line ?? []).map(each => each.definition), definition],
    definition,
    owner,
    title: progress?.title ?? definition,
    rule,
    digest,
    effect: content,
    askedAt: new Date(askedAt).toISOString(),
    expiresAt: new Date(updatedAt + budget.idle).toISOString(),
    ...(progress?.step === undefined ? {} : { step: progress.step, maxSteps: progress.maxSteps ?? progress.step }),
    ...(progress?.lastOutput === undefined || progress.lastOutput === '' ? {} : { lastOutput: progress.lastOutput.slice(-MAX_OUTPUT) })
  }
}
