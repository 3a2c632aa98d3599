import { createHash } from 'node:crypto'
import { canonicalJson, type JsonObject } from '../base/json.ts'
import { contentOf } from './effects.ts'
import { type Effect } from './model.ts'
import { type OpenEffect, openIn, type Session } from './session.ts'

/** An effect that waits for a person. */
export interface Approval {
  readonly session: Session
  /** Id of the effect. */
  readonly effect: string
  readonly rule: string
  /** Of all that is shown, and of its place in the session: the same command at the next step is another approval. */
  readonly digest: string
  /** What is shown. */
  readonly content: JsonObject
  /** In ms since 1970. */
  readonly askedAt: number
}

/** What a person has to know of an effect beside itself, as it is now. */
export type AboutEffect = (session: Session, effect: Effect) => JsonObject

/** What approvers who may not read a session are shown of its last output, in UTF-16 units. */
const MAX_OUTPUT = 2048

/** An approval is named by its session and its effect: `9f…:4.0`. */
export function approvalId (session: string, effect: string): string {
  return `${session}:${effect}`
}

/** Session and effect out of the id of an approval; `undefined` for what is none. */
export function parseApprovalId (id: string): { readonly session: string, readonly effect: string } | undefined {
  const [, session, effect] = /^([0-9a-f]{32}):(\d{1,9}\.\d{1,9})$/.exec(id) ?? []
  return session === undefined || effect === undefined ? undefined : { session, effect }
}

/** All that a person is shown of an effect, which is all that he decides about. */
export function askedContent (effect: Effect, about: JsonObject): JsonObject {
  return { ...contentOf(effect), ...about }
}

/** The digest of what a person is shown, a whole SHA-256: equal for one effect of one session under the same circumstances. */
export function approvalDigest (session: string, effect: Effect, about: JsonObject): string {
  return createHash('sha256').update(canonicalJson({ session, effect: effect.id, content: askedContent(effect, about) })).digest('hex')
}

/** What waits for a person in a session. @param aboutOf the circumstances of now; without it, of when it was asked for */
export function approvalsIn (session: Session, aboutOf?: AboutEffect): readonly Approval[] {
  return openIn(session, 'held').map(open => approvalOf(session, open, aboutOf))
}

/** An effect that is held, as a person decides about it. @param aboutOf see `approvalsIn` */
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

/** The effect that was shown with a digest, be it decided or not. */
export function effectShownWith ({ asked }: Session, digest: string): string | undefined {
  return [...asked].find(([, shown]) => shown.digest === digest)?.[0]
}

/** An approval as every client reads it. */
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
