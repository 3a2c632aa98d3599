import { type JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { callsOf, contentOf } from '../../llm/history.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { type Progress } from '../../service/sessions/door.ts'
import { approvalsIn } from '../../session/approval.ts'
import { resultOf } from '../../session/engine.ts'
import { type Session } from '../../session/session.ts'
import { ApprovalView, viewApproval } from './approval-view.ts'
import { nullable, oneOf } from '../base/schemas.ts'

/** The largest size of a skill's messages in one reply, in UTF-16 units of their JSON; older messages are left out. */
const MAX_MESSAGES = 1024 * 1024

/**
 * The schema of the model's last reply, as `parseSkillResponse` reads it. After a command that was interrupted or not run, it is the
 * question that the service itself asks about that command.
 */
const AiResponse = Type.Object({
  type: oneOf(['CMD', 'ASK', 'MESSAGE', 'DONE']),
  content: Type.String({ description: 'With its tag' }),
  command: Type.Optional(Type.String()),
  question: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean({ description: 'Whether the question needs an answer' })),
  message: Type.Optional(Type.String()),
  fallback: Type.Optional(Type.Boolean({ description: 'The model did not say that it is a command' })),
  isInterrupted: Type.Optional(Type.Boolean({ description: 'The service asks: nobody knows whether `command` was done. `again` runs it again, `skip` does without it, anything else is what it printed' })),
  isBusy: Type.Optional(Type.Boolean({ description: 'The service asks: `command` was not run, since its terminal was busy for too long. `again` tries again, `without` runs it and all further ones without the terminal, `skip` leaves it out, anything else is for the model' }))
})

const State = oneOf(['idle', 'waiting_cmd', 'waiting_user', 'done', 'cancelled', 'failed', 'expired'])

/** The schema of a skill's state after a call that continues it. */
export const SkillTurnData = Type.Object({
  aiResponse: nullable(AiResponse, { description: 'What the model said last, or what is asked about a command that was interrupted, or not run; null before that' }),
  state: State,
  step: Type.Integer(),
  text: Type.String({ description: 'What it ended with' }),
  approval: Type.Union([ApprovalView, Type.Null()], { description: 'The command that waits for a person' })
})

/** The schema of a skill's state after a command was approved. */
export const SkillApprovedData = Type.Object({
  ...SkillTurnData.properties,
  aiResponse: nullable(AiResponse, { description: 'For whoever owns the session alone' }),
  text: Type.String({ description: 'Likewise' }),
  lastOutput: Type.Optional(Type.String({ description: 'The last lines that the last command printed, for whoever does not own the session' }))
})

/** The schema of a skill's state after its start. */
export const SkillStartData = Type.Object({
  skillSessionId: Type.String(),
  skillName: Type.String(),
  skillDescription: Type.String(),
  ...SkillTurnData.properties
})

/** The schema of the full description of a skill's session, with the messages of its model. */
export const SkillData = Type.Object({
  terminalSessionId: Type.String({ description: 'Where it was started: a terminal, a target, or `manual`' }),
  serverId: Type.Union([Type.String(), Type.Null()], { description: 'The target on which its commands run; null where its user runs them' }),
  state: State,
  step: Type.Integer(),
  maxSteps: Type.Integer(),
  pendingCommand: Type.Union([Type.String(), Type.Null()]),
  approval: SkillTurnData.properties.approval,
  aiResponse: SkillTurnData.properties.aiResponse,
  createdAt: Type.String({ format: 'date-time' }),
  lastActivity: Type.String({ format: 'date-time' }),
  skillName: Type.String(),
  skillDescription: Type.String(),
  messages: Type.Array(Type.Object({
    role: oneOf(['system', 'user', 'assistant', 'tool'], { description: '`tool`: what came of a call' }),
    content: Type.String(),
    calls: Type.Optional(Type.Array(Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON, as the model wrote it' }) }), { description: 'What the model calls, in a skill whose protocol is `tools`' }))
  }), { description: 'What the model has been sent and has said, the newest last' }),
  messagesLeftOut: Type.Integer({ description: 'How many of them, the oldest, are not shown, since all together are too long' }),
  outputBuffer: Type.Array(Type.String(), { description: 'The last lines that the last command printed' }),
  text: Type.String({ description: 'What it ended with' })
})

/** The schema of the output of a skill's last command. */
export const SkillOutputData = Type.Object({ lastOutput: Type.String({ description: 'The last lines' }), state: State, step: Type.Integer() })

type Message = Static<typeof SkillData>['messages'][number]

/**
 * The state of a skill as its clients see it: the state of the skill's engine or, for a session that was cancelled, has failed or has
 * expired, the status of the session.
 */
export function stateOf ({ status, engine }: Session): Static<typeof State> {
  if (status === 'cancelled' || status === 'expired' || status === 'failed') return status
  return engine.view.stateName as Static<typeof State>
}

/**
 * Describes a skill after a call. A caller who may only decide approvals sees the approval and the last command's output, and
 * nothing that the model has read or said.
 */
export function describeTurn ({ session, isOwn }: Pick<Progress, 'session' | 'isOwn'>): Static<typeof SkillApprovedData> {
  const { reply, step, lastOutput } = resultOf(session, SKILL)
  const [state, approval] = [stateOf(session), approvalIn(session)]
  return isOwn ? { aiResponse: reply, state, step, text: textOf(session), approval } : { aiResponse: null, state, step, text: '', approval, lastOutput }
}

export function describeStart (progress: Progress): Static<typeof SkillStartData> {
  const { session } = progress
  const { name, description } = resultOf(session, SKILL)
  return { skillSessionId: session.id, skillName: name, skillDescription: description, ...describeTurn(progress) }
}

export function describeSkill (session: Session): Static<typeof SkillData> {
  const { name, description, terminal, target, system, messages, step, maxSteps, pendingCommand, lastOutput, reply } = resultOf(session, SKILL)
  const all: readonly Message[] = [...system === '' ? [] : [{ role: 'system' as const, content: system }], ...messages.map(describeMessage)]
  const shown = newestOf(all)
  return {
    terminalSessionId: terminal,
    serverId: target === '' ? null : target,
    state: stateOf(session),
    step,
    maxSteps,
    pendingCommand: pendingCommand === '' ? null : pendingCommand,
    approval: approvalIn(session),
    aiResponse: reply,
    createdAt: new Date(session.createdAt).toISOString(),
    lastActivity: new Date(session.updatedAt).toISOString(),
    skillName: name,
    skillDescription: description,
    messages: shown,
    messagesLeftOut: all.length - shown.length,
    outputBuffer: lastOutput === '' ? [] : lastOutput.split('\n'),
    text: textOf(session)
  }
}

function describeMessage (message: JsonObject): Message {
  const role = message['role']
  const calls = callsOf(message).map(({ name, arguments: given }) => ({ name, arguments: given }))
  return { role: role === 'user' || role === 'assistant' ? role : 'tool', content: contentOf(message), ...(calls.length === 0 ? {} : { calls }) }
}

function newestOf (messages: readonly Message[]): Message[] {
  let length = 0
  const from = messages.findLastIndex(message => (length += JSON.stringify(message).length) > MAX_MESSAGES)
  return messages.slice(from + 1)
}

export function describeOutput (session: Session): Static<typeof SkillOutputData> {
  const { lastOutput, step } = resultOf(session, SKILL)
  return { lastOutput, state: stateOf(session), step }
}

/** The approval that a skill waits for; a skill asks for one command at a time. */
function approvalIn (session: Session): Static<typeof ApprovalView> | null {
  const [waiting] = approvalsIn(session)
  return waiting === undefined ? null : viewApproval(waiting)
}

/** The text with which a skill has ended; empty until then. */
export function textOf (session: Session): string {
  return session.status === 'cancelled' ? 'Cancelled by user' : resultOf(session, SKILL).text
}
