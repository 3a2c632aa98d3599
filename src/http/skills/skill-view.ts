import { type JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { approvalsIn } from '../../session/approval.ts'
import { type Session } from '../../session/session.ts'
import { ApprovalView, viewApproval } from '../approval-view.ts'
import { nullable, oneOf } from '../openapi/schemas.ts'

/** What the model said, as `parseSkillResponse` reads it. */
const AiResponse = Type.Object({
  type: oneOf(['CMD', 'ASK', 'MESSAGE', 'DONE']),
  content: Type.String({ description: 'With its tag' }),
  command: Type.Optional(Type.String()),
  question: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean({ description: 'Whether the question needs an answer' })),
  message: Type.Optional(Type.String()),
  fallback: Type.Optional(Type.Boolean({ description: 'The model did not say that it is a command' }))
})

const State = oneOf(['idle', 'waiting_cmd', 'waiting_user', 'done', 'cancelled', 'failed', 'expired'])

/** Where a skill is after somebody has sent it something. */
export const SkillTurnData = Type.Object({
  aiResponse: nullable(AiResponse, { description: 'What the model said last; null before that' }),
  state: State,
  step: Type.Integer(),
  text: Type.String({ description: 'What it ended with' }),
  approval: Type.Union([ApprovalView, Type.Null()], { description: 'The command that waits for a person' })
})

/** The same of one that has just begun (S-36). */
export const SkillStartData = Type.Object({
  skillSessionId: Type.String(),
  skillName: Type.String(),
  skillDescription: Type.String(),
  ...SkillTurnData.properties
})

/** How far a skill is (S-40). */
export const SkillData = Type.Object({
  state: State,
  step: Type.Integer(),
  maxSteps: Type.Integer(),
  pendingCommand: Type.Union([Type.String(), Type.Null()]),
  approval: SkillTurnData.properties.approval,
  aiResponse: SkillTurnData.properties.aiResponse,
  createdAt: Type.String({ format: 'date-time' }),
  lastActivity: Type.String({ format: 'date-time' }),
  skillName: Type.String(),
  text: Type.String({ description: 'What it ended with' })
})

/** What its last command printed (S-40). */
export const SkillOutputData = Type.Object({ lastOutput: Type.String({ description: 'The last lines' }), state: State, step: Type.Integer() })

/** What the engine tells of a skill; it is the engine's own form. */
interface SkillResult {
  readonly name: string
  readonly description: string
  readonly step: number
  readonly maxSteps: number
  readonly pendingCommand: string
  readonly text: string
  readonly lastOutput: string
  readonly reply: Static<typeof AiResponse> | null
}

/** In the words of the protocol; the engine's own, unless the session was ended from outside. */
export function stateOf ({ status, engine }: Session): Static<typeof State> {
  if (status === 'cancelled' || status === 'expired' || status === 'failed') return status
  return engine.view.word as Static<typeof State>
}

export function describeTurn (session: Session): Static<typeof SkillTurnData> {
  const { reply, step } = resultOf(session)
  return { aiResponse: reply, state: stateOf(session), step, text: textOf(session), approval: approvalIn(session) }
}

export function describeStart (session: Session): Static<typeof SkillStartData> {
  const { name, description } = resultOf(session)
  return { skillSessionId: session.id, skillName: name, skillDescription: description, ...describeTurn(session) }
}

export function describeSkill (session: Session): Static<typeof SkillData> {
  const { name, step, maxSteps, pendingCommand, reply } = resultOf(session)
  return {
    state: stateOf(session),
    step,
    maxSteps,
    pendingCommand: pendingCommand === '' ? null : pendingCommand,
    approval: approvalIn(session),
    aiResponse: reply,
    createdAt: new Date(session.createdAt).toISOString(),
    lastActivity: new Date(session.updatedAt).toISOString(),
    skillName: name,
    text: textOf(session)
  }
}

export function describeOutput (session: Session): Static<typeof SkillOutputData> {
  const { lastOutput, step } = resultOf(session)
  return { lastOutput, state: stateOf(session), step }
}

/** A skill asks for one command at a time. */
function approvalIn (session: Session): Static<typeof ApprovalView> | null {
  const [waiting] = approvalsIn(session)
  return waiting === undefined ? null : viewApproval(waiting)
}

/** What a skill ended with; empty before its end. */
export function textOf (session: Session): string {
  return session.status === 'cancelled' ? 'Cancelled by user' : resultOf(session).text
}

function resultOf ({ engine }: Session): SkillResult {
  return (engine.view.result ?? {}) as JsonObject as unknown as SkillResult
}
