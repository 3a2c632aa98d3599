import { createHash } from 'node:crypto'
import { canonicalJson, type JsonObject } from '../base/json.ts'
import { contentOf } from './effects.ts'
import { type Effect, type Fact, type Held, type Notice } from './model.ts'
import { type OpenEffect, openIn, type Session } from './session.ts'

/**
 * An approval: the question to a person whether one effect of a session (an action of the service, such as a command) may be performed,
 * with what the person is shown.
 */
export interface Approval {
  readonly session: Session
  /** The id of the effect that waits for the person's answer. */
  readonly effect: string
  readonly rule: string
  /**
   * The digest (a SHA-256) of the content that the person is shown and of the effect's id. An equal command at a later step has another
   * id, so another digest.
   */
  readonly digest: string
  /** The content that the person is shown: the effect and its circumstances. */
  readonly content: JsonObject
  /** When the person was asked, in ms since 1970. */
  readonly askedAt: number
}

/** Gives the circumstances of an effect as they are now, such as host and folder: what a person has to know to decide whether the effect may be performed. */
export type AboutEffect = (session: Session, effect: Effect) => JsonObject

/**
 * The longest output of the session's last command that an approval shows, in UTF-16 units. It is short because approvers are perhaps not allowed
 * to read the session itself.
 */
const MAX_OUTPUT = 2048

/** The id of an approval: its session's id and its effect's id, such as `9f…:4.0`. */
export function approvalId (session: string, effect: string): string {
  return `${session}:${effect}`
}

/** Splits the id of an approval into the ids of its session and its effect. @returns `undefined` for a text that is not the id of an approval */
export function parseApprovalId (id: string): { readonly session: string, readonly effect: string } | undefined {
  const [, session, effect] = /^([0-9a-f]{32}):(\d{1,9}\.\d{1,9})$/.exec(id) ?? []
  return session === undefined || effect === undefined ? undefined : { session, effect }
}

/**
 * The whole content that a person is shown to decide about an effect (an action of the service, such as a command): the effect itself,
 * and its circumstances.
 */
export function askedContent (effect: Effect, about: JsonObject): JsonObject {
  return { ...contentOf(effect), ...about }
}

/**
 * The digest of the content that a person is shown to decide about an effect, as SHA-256. It is equal only for the same effect of the
 * same session under the same circumstances.
 */
export function approvalDigest (session: string, effect: Effect, about: JsonObject): string {
  return createHash('sha256').update(canonicalJson({ session, effect: effect.id, content: askedContent(effect, about) })).digest('hex')
}

/**
 * The notice (an event for a session's followers) that a person is asked about an effect.
 * @param digest of the content that the person is shown
 * @param until when the question expires, in ms since 1970
 */
export function approvalAsked (session: string, { effect, rule, about }: Held, digest: string, until: number): Notice {
  const id = approvalId(session, effect.id)
  return { type: 'approval', data: { effect: effect.id, id, digest, rule, expiresAt: new Date(until).toISOString(), ...askedContent(effect, about) } }
}

/** The notice (an event for a session's followers) of a person's decision about an effect. */
export function approvalDecided (session: string, { effect, by, decision, command, reason }: Extract<Fact, { kind: 'decided' }>): Notice {
  const edited = { ...(command === undefined ? {} : { command }), ...(reason === undefined ? {} : { reason }) }
  return { type: 'approval', data: { effect, id: approvalId(session, effect), decision, by, ...edited } }
}

/**
 * The approvals of a session that wait for a person's answer.
 * @param aboutOf gives the circumstances of an effect.
 * @default the circumstances at the time of the question
 */
export function approvalsIn (session: Session, aboutOf?: AboutEffect): readonly Approval[] {
  return openIn(session, 'held').map(open => approvalOf(session, open, aboutOf))
}

/** The approval for a held effect, which is one that waits for a person's answer. @param aboutOf see `approvalsIn` */
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

/** Finds an effect by the digest that its approval was shown with, even if a person has answered already. @returns id of the effect, if any */
export function effectShownWith ({ asked }: Session, digest: string): string | undefined {
  return [...asked].find(([, shown]) => shown.digest === digest)?.[0]
}

/** Formats an approval (the question to a person whether an effect may be performed) for replies to clients. */
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
